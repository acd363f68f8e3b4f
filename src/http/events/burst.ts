/** Some events in a row as they go over the wire, shared by all streams that send them. */

import type { Engine } from '../../engine/engine.ts';
import { type FeedPlace, placeText } from './feed-place.ts';
import { eventView } from './view.ts';

type StoredEvent = Awaited<ReturnType<Engine['jobs']['feed']>>[number];

/** An event as it is sent, and what a reader may ask about it. */
export interface FeedEvent extends Pick<StoredEvent, 'pos' | 'ordinal' | 'kind' | 'target' | 'jobId'> {
  readonly bytes: Buffer;
}

/** Larger ones are not sent faster, and every stalled reader holds one. */
export const BURST_BYTES = 32_768;
const FREE_SLABS = 64;

/**
 * Memory that is used again as soon as nobody needs it. Left to the garbage collector, what hundreds of slow readers
 * were sent would pile up by tens of megabytes before it is collected.
 */
const free: Buffer[] = [];

export class Burst {
  readonly after: FeedPlace;
  readonly last: FeedPlace;
  readonly events: readonly FeedEvent[];
  /** All of them, one after another. */
  readonly bytes: Buffer;
  readonly #slab: Buffer | null;
  #holders = 1;

  constructor(after: FeedPlace, events: readonly StoredEvent[], texts: readonly string[], size: number) {
    this.#slab = size > BURST_BYTES ? null : (free.pop() ?? Buffer.allocUnsafeSlow(BURST_BYTES));
    this.bytes = this.#slab?.subarray(0, size) ?? Buffer.allocUnsafeSlow(size);
    let end = 0;
    this.events = events.map(({ pos, ordinal, kind, target, jobId }, i) => {
      const start = end;
      end += this.bytes.write(texts[i] ?? '', start);
      return { pos, ordinal, kind, target, jobId, bytes: this.bytes.subarray(start, end) };
    });
    this.after = after;
    this.last = this.events.at(-1) ?? after;
  }

  /** Whoever uses the bytes later than at once holds them until then. */
  hold(): void {
    this.#holders++;
  }

  release(): void {
    this.#holders--;
    if (this.#holders === 0 && this.#slab !== null && free.length < FREE_SLABS) free.push(this.#slab);
  }

  /** What one of its events takes, on average. */
  get eventBytes(): number {
    return this.bytes.length / this.events.length;
  }
}

/** A page of the feed after a place, in pieces that can be written at once. */
export function inBursts(after: FeedPlace, page: readonly StoredEvent[]): Burst[] {
  const texts = page.map(eventText);
  const sizes = texts.map((text) => Buffer.byteLength(text));
  const bursts: Burst[] = [];
  for (let from = 0; from < page.length; ) {
    let size = sizes[from] ?? 0;
    let until = from + 1;
    while (until < page.length && size + (sizes[until] ?? 0) <= BURST_BYTES) size += sizes[until++] ?? 0;
    const place = bursts.at(-1)?.last ?? after;
    bursts.push(new Burst(place, page.slice(from, until), texts.slice(from, until), size));
    from = until;
  }
  return bursts;
}

function eventText(event: StoredEvent): string {
  const { jobId, jobNo: no, target } = event;
  const data = { jobId, no, ...eventView(event, event.traceparent), target };
  return `id: ${placeText(event)}\nevent: ${event.kind}\ndata: ${JSON.stringify(data)}\n\n`;
}
