/** How far a projection has come in the feed, and whether the feed still is the one it followed. */

import type { FeedEntry, FeedPlace } from '../domain/event.ts';
import type { Reads } from '../store/store.ts';

export const START: FeedPlace = { pos: 0, ordinal: 0 };

/** A place together with the event that stood there, so that another history is noticed. */
export interface Mark extends FeedPlace {
  readonly jobNo: number;
  readonly seq: number;
  readonly at: number;
}

export function markOf(event: FeedEntry): Mark {
  return { pos: event.pos, ordinal: event.ordinal, jobNo: event.jobNo, seq: event.seq, at: event.at };
}

export function placeOf(mark: Mark | null): FeedPlace {
  return mark === null ? START : { pos: mark.pos, ordinal: mark.ordinal };
}

export function isAfter(a: FeedPlace, b: FeedPlace): boolean {
  return a.pos > b.pos || (a.pos === b.pos && a.ordinal > b.ordinal);
}

/** False when the database is behind the mark or says something else happened there: it was restored from a backup. */
export async function continues(read: Pick<Reads, 'feed'>, mark: Mark | null): Promise<boolean> {
  if (mark === null) return true;
  const [event] = await read.feed.entries({ pos: mark.pos, ordinal: mark.ordinal - 1 }, 1);
  if (event === undefined) return false;
  // A later event there means that the marked one was pruned, and its commit with it.
  return isAfter(event, mark) || (event.jobNo === mark.jobNo && event.seq === mark.seq);
}

/** What a background duty says about one bounded pass. */
export interface Pass {
  readonly done: number;
  readonly more: boolean;
  /** When to go on, if not at once. */
  readonly nextInMs?: number;
}
