/** Lists that were answered whole before there was more of them than one answer may hold. */

import { type Page, pageOf } from '../../page.ts';
import type { Call } from '../../routes.ts';

export interface PageQuery {
  readonly limit?: number;
  readonly offset?: number;
}

export interface OffsetReader<T> {
  readonly most: number;
  /** What one takes at most. */
  readonly itemBytes: number;
  readonly read: (offset: number, count: number) => readonly T[] | Promise<readonly T[]>;
  readonly bytesOf: (item: T) => number;
}

/** Bounded by bytes; `next` is the offset of what was left out. */
export async function pageByOffset<T>(
  call: Call,
  { limit, offset = 0 }: PageQuery,
  { most, itemBytes, read, bytesOf }: OffsetReader<T>,
): Promise<Page<T, number>> {
  const { items, next } = await pageOf<{ item: T; after: number }, number>(call, {
    limit: Math.min(limit ?? most, most),
    itemBytes,
    start: offset,
    read: async (from, count) => (await read(from, count)).map((item, i) => ({ item, after: from + i + 1 })),
    cursorOf: ({ after }) => after,
    bytesOf: ({ item }) => bytesOf(item),
  });
  return { items: items.map(({ item }) => item), next };
}
