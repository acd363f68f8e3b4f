/** Removes backups that are older than they need be, and what only they named. To be called by the one who backs up. */

import { type Manifest, parseFiles, readManifest } from './manifest.ts';
import { listKey, manifestKey, type Pool, POOLS, pooledKey } from './names.ts';
import type { Place } from './place.ts';
import { checked, Damaged } from './sums.ts';
import { type Found, survey } from './survey.ts';

export interface Retention {
  readonly snapshotMs: number;
  readonly rollupMs: number;
}

/** Answers how many backups were removed. */
export async function removeOld(place: Place, now: number, keep: Retention): Promise<number> {
  const all = await survey(place);
  const newest = all.find(({ complete }) => complete);
  const doomed = all.filter((found) => found !== newest && isDoomed(found, now, keep));
  for (const { keys } of doomed) for (const key of keys) await place.remove(key);
  return doomed.filter(({ complete }) => complete).length;
}

/** Whoever has no manifest was killed while he wrote: nobody else writes while we do. */
function isDoomed({ kind, at, complete }: Found, now: number, keep: Retention): boolean {
  return !complete || at < now - (kind === 'snapshot' ? keep.snapshotMs : keep.rollupMs);
}

/** Answers how many files of the pools were removed. Their names are held in memory, about 150 bytes each. */
export async function emptyPools(place: Place): Promise<number> {
  const named = await namedKeys(place);
  // What a backup that cannot be read names is not known.
  if (named === null) return 0;
  let removed = 0;
  for (const pool of POOLS) {
    for await (const { key } of place.list(`${pool}/`)) {
      if (named.has(key)) continue;
      await place.remove(key);
      removed++;
    }
  }
  return removed;
}

async function namedKeys(place: Place): Promise<ReadonlySet<string> | null> {
  const named = new Set<string>();
  const add = (pool: Pool, sha256: string): unknown => named.add(pooledKey(pool, sha256));
  /** Lists that are the same, as those of quiet hours are, are read once. */
  const seen = new Set<string>();
  for (const found of await survey(place)) {
    const manifest: Manifest | null = found.complete ? await readManifest(place, manifestKey(found)) : null;
    if (manifest === null) return null;
    for (const { sha256 } of manifest.journal) add('journal', sha256);
    for (const pool of ['artifacts', 'objects'] as const) {
      const list = manifest[pool];
      if (list === null || seen.has(`${pool} ${list.sha256}`)) continue;
      seen.add(`${pool} ${list.sha256}`);
      const lines = checked(place.read(listKey(found, pool)), list);
      try {
        for await (const { sha256 } of parseFiles(lines)) add(pool, sha256);
      } catch (error) {
        if (error instanceof Damaged) return null;
        throw error;
      }
    }
  }
  return named;
}
