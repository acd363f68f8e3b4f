/** Which backups a place has, by its list of names alone. */

import { folderOf, KINDS, type Kind, manifestKey, type Named, partOf, timeOf } from './names.ts';
import type { Place } from './place.ts';

export interface Found extends Named {
  readonly at: number;
  /** It has a manifest: nothing of it is missing. */
  readonly complete: boolean;
  /** Without what is in the pools. */
  readonly bytes: number;
  /** The manifest first: when that is gone the rest is no backup any more. */
  readonly keys: readonly string[];
}

/** Newest first; of one second the rollup last, since it was made last. */
export async function survey(place: Place, kinds: readonly Kind[] = KINDS): Promise<readonly Found[]> {
  const found = new Map<string, Found>();
  for (const kind of kinds) {
    for await (const { key, size } of place.list(folderOf(kind))) {
      const part = partOf(key);
      if (part === null) continue;
      const mark = `${kind} ${part.name}`;
      const { bytes = 0, keys = [], complete = false } = found.get(mark) ?? {};
      const isManifest = key === manifestKey(part);
      found.set(mark, {
        kind,
        name: part.name,
        at: timeOf(part.name),
        complete: complete || isManifest,
        bytes: bytes + size,
        keys: isManifest ? [key, ...keys] : [...keys, key],
      });
    }
  }
  return [...found.values()].toSorted((a, b) => b.at - a.at || a.kind.localeCompare(b.kind));
}
