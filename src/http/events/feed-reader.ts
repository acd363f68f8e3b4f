/** Reads the feed once for everybody who follows it. */

import type { Clock } from '../../domain/ports.ts';
import type { Engine } from '../../engine/engine.ts';
import { eventView } from '../contracts/spine-view.ts';
import type { EventStream, FeedEvent } from './event-stream.ts';
import { type FeedPlace, isAfter, placeText } from './place.ts';

const PAGE = 500;
/** What a slow reader left of its page is read again, so it gets less at a time. */
const SMALL_PAGE = 50;
/** Written at most before the sockets get their turn, or a healthy reader would look like a stalled one. */
const BURST_CHARS = 131_072;
const TRY_AGAIN_MS = 1_000;

type Reached = 'end' | 'more' | 'slow';

/**
 * A stream that is far behind reads for itself, at its own pace. Once it has come to the end it joins the others:
 * from then on each page of the feed is read once and handed to all. Joining happens between two reads of the
 * shared reader, so nothing slips through in between.
 */
export class FeedReader {
  readonly #engine: Engine;
  readonly #clock: Clock;
  readonly #onError: (error: unknown) => void;
  readonly #followers = new Set<EventStream>();
  #joining: EventStream[] = [];
  #place: FeedPlace = { pos: 0, ordinal: 0 };
  #unwatch: (() => void) | null = null;
  #reading = false;
  #again = false;

  constructor(engine: Engine, clock: Clock, onError: (error: unknown) => void) {
    this.#engine = engine;
    this.#clock = clock;
    this.#onError = onError;
  }

  follow(stream: EventStream): void {
    this.#comeNear(stream).catch((error: unknown) => {
      // Its reader comes back to where it was, to a server that can read again by then.
      this.#onError(error);
      stream.close('closed, because the events could not be read');
    });
  }

  async #comeNear(stream: EventStream): Promise<void> {
    let reached = await this.#catchUp(stream, PAGE);
    while (reached !== 'end') {
      if (reached === 'slow') await stream.drained();
      await nextTurn();
      reached = await this.#catchUp(stream, reached === 'slow' ? SMALL_PAGE : PAGE);
    }
    if (!stream.isOpen) return;
    this.#joining.push(stream);
    this.#unwatch ??= this.#engine.onNewEvents(() => this.wake());
    this.wake();
  }

  leave(stream: EventStream): void {
    this.#followers.delete(stream);
    this.#joining = this.#joining.filter((one) => one !== stream);
    if (this.#followers.size > 0 || this.#joining.length > 0) return;
    this.#unwatch?.();
    this.#unwatch = null;
  }

  /** There may be new events; one read at a time, and another after it when this comes meanwhile. */
  wake(): void {
    this.#again = true;
    if (this.#reading || this.#unwatch === null) return;
    this.#reading = true;
    this.#readOn().catch((error: unknown) => {
      this.#onError(error);
      this.#clock.after(TRY_AGAIN_MS, () => this.wake());
    });
  }

  async #readOn(): Promise<void> {
    try {
      while (this.#again) {
        this.#again = false;
        await this.#admitJoining();
        while (this.#followers.size > 0 && (await this.#readPage())) await nextTurn();
      }
    } finally {
      this.#reading = false;
    }
  }

  /** Here the shared place stands still, so a stream that has reached it has missed nothing. */
  async #admitJoining(): Promise<void> {
    for (let stream = this.#joining[0]; stream !== undefined; stream = this.#joining[0]) {
      if (this.#followers.size === 0) this.#place = stream.place;
      let reached: Reached = 'more';
      while (reached === 'more' && isAfter(this.#place, stream.place)) {
        reached = await this.#catchUp(stream, PAGE);
        if (reached === 'end') stream.skipTo(this.#place);
      }
      // It may have left while its page was read.
      if (this.#joining[0] !== stream) continue;
      this.#joining.shift();
      // Nobody waits for a slow one here: it goes back to reading for itself.
      if (reached === 'slow') this.follow(stream);
      else if (stream.isOpen) this.#followers.add(stream);
    }
  }

  /** One page for one stream, or as much of it as its reader takes at once. */
  async #catchUp(stream: EventStream, limit: number): Promise<Reached> {
    const events = await this.#engine.jobs.feed(stream.place, limit);
    for (const event of events) {
      stream.take(event, () => eventText(event));
      if (!stream.isOpen) return 'end';
      if (stream.isBehind) return 'slow';
    }
    stream.flush();
    return events.length === limit ? 'more' : 'end';
  }

  /** One page for all. */
  async #readPage(): Promise<boolean> {
    const events = await this.#engine.jobs.feed(this.#place, PAGE);
    let burst = 0;
    for (const event of events) {
      let text: string | undefined;
      const textOnce = (): string => (text ??= eventText(event));
      for (const stream of this.#followers) stream.take(event, textOnce);
      this.#place = event;
      burst += text?.length ?? 0;
      if (burst < BURST_CHARS) continue;
      burst = 0;
      this.#flushAll();
      await nextTurn();
    }
    this.#flushAll();
    return events.length === PAGE;
  }

  #flushAll(): void {
    for (const stream of this.#followers) stream.flush();
  }
}

/** Sockets get to send, and other requests their turn, between two pages. */
function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

function eventText(event: FeedEvent): string {
  const { jobId, jobNo: no, target } = event;
  const data = { jobId, no, ...eventView(event), target };
  return `id: ${placeText(event)}\nevent: ${event.kind}\ndata: ${JSON.stringify(data)}\n\n`;
}
