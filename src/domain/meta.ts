/** A job's meta: what its maker said about it, and what was said later. */

import { isJsonObject } from './json-object.ts';

type Facts = Readonly<Record<string, unknown>>;

/** Both are JSON. What is said later joins what is there; under the same name it takes its place. */
export function joinedMeta(meta: string | null, metadata: string): string {
  return JSON.stringify({ ...metaFacts(meta), ...metaFacts(metadata) });
}

/** Meta may be any JSON; what is no object is kept under a name. */
export function metaFacts(meta: string | null): Facts {
  const value: unknown = meta === null ? {} : JSON.parse(meta);
  return isJsonObject(value) ? value : { meta: value };
}
