/** Places in the feed, as the `id` of an event writes them: `<position>.<ordinal>`. */

import { SpineError } from '../../domain/error.ts';
import type { Engine } from '../../engine/engine.ts';

export type FeedPlace = Parameters<Engine['jobs']['feed']>[0];

/** A bare position stands for its beginning, so that 0 means "everything there is". */
export function placeText({ pos, ordinal }: FeedPlace): string {
  return ordinal < 0 ? String(pos) : `${pos}.${ordinal}`;
}

export function placeFrom(text: string, field: string): FeedPlace {
  const [, pos, ordinal] = /^(\d{1,15})(?:\.(\d{1,9}))?$/.exec(text) ?? [];
  if (pos === undefined) {
    const message = `${field} must be the id of an event, or 0 for the beginning.`;
    throw new SpineError('bad_request', { field }, { message });
  }
  return { pos: Number(pos), ordinal: ordinal === undefined ? -1 : Number(ordinal) };
}

export function isAfter(a: FeedPlace, b: FeedPlace): boolean {
  return a.pos > b.pos || (a.pos === b.pos && a.ordinal > b.ordinal);
}
