/** Pages that are bounded by bytes as well as by count. */

import { LIMITS } from '../domain/limits.ts';
import type { Place } from './answer-room.ts';
import type { Call } from './routes.ts';

/** What a page may take before it is known how large its items are. */
const FIRST_BYTES = 1_048_576;
/** A page is read in steps that grow with what is known of its items. */
const GROWTH = 8;

/** What may be as large as a request is read one by one at first. */
export const LARGE_ITEM_BYTES = FIRST_BYTES;

export interface Page<T, Cursor> {
  readonly items: readonly T[];
  /** Where the next page begins; null when this is the last. */
  readonly next: Cursor | null;
}

export interface PageReader<T, Cursor> {
  /** How many were asked for. */
  readonly limit: number;
  /** How much the page may hold; as much as any answer when not said. */
  readonly maxBytes?: number;
  /** What one item takes at most, and so how many are read at first. */
  readonly itemBytes: number;
  readonly start: Cursor;
  readonly read: (from: Cursor, count: number) => Promise<readonly T[]>;
  readonly cursorOf: (item: T) => NonNullable<Cursor>;
  /** Where to go on when the last read found fewer than it was asked for; without it, or when it says null, nothing follows. */
  readonly behind?: () => Cursor | null;
  /** How often to go on like this for one page. */
  readonly looks?: number;
  /** About what it takes to show one. */
  readonly bytesOf: (item: T) => number;
}

/**
 * Reads a page until it has as many items as were asked for, or as many bytes as one answer may hold, or as there is
 * room for just now; at least one item.
 */
export async function pageOf<T, Cursor>(call: Call, reader: PageReader<T, Cursor>): Promise<Page<T, Cursor>> {
  const { limit, read, cursorOf, bytesOf } = reader;
  const maxBytes = Math.min(reader.maxBytes ?? LIMITS.answerBytes, call.answerBytes ?? LIMITS.answerBytes);
  const { room, longWork } = call.parts;
  const place = await room.take(call, FIRST_BYTES);
  const items: T[] = [];
  let from = reader.start;
  let bytes = 0;
  let granted = FIRST_BYTES;
  let looks = reader.looks ?? 1;
  let step = Math.max(1, Math.floor(FIRST_BYTES / reader.itemBytes));
  for (;;) {
    const count = Math.min(step, limit - items.length);
    const start = from;
    // Only the read itself: whoever waited for room meanwhile would keep all others waiting too.
    const found = await longWork.run(call.actor, () => read(start, count));
    for (const item of found) {
      bytes += bytesOf(item);
      granted = grownTo(place, granted, bytes, maxBytes);
      if (items.length > 0 && bytes > granted) return { items, next: from };
      items.push(item);
      from = cursorOf(item);
    }
    if (items.length === limit) return { items, next: from };
    if (found.length < count) {
      const behind = reader.behind?.() ?? null;
      if (behind === null || --looks <= 0) return { items, next: behind };
      from = behind;
      continue;
    }
    step = nextStep(step, (maxBytes - bytes) / (bytes / items.length));
  }
}

/** As many more as should fit, judged by those so far. */
function nextStep(step: number, fitting: number): number {
  return Math.max(1, Math.min(step * GROWTH, Math.floor(fitting)));
}

/** How much the page may hold by now. */
function grownTo(place: Place, granted: number, bytes: number, maxBytes: number): number {
  if (bytes <= granted || bytes > maxBytes) return granted;
  const more = Math.min(maxBytes - granted, Math.max(bytes - granted, FIRST_BYTES));
  return place.tryGrow(more) ? granted + more : granted;
}
