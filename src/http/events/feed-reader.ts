/** Reads the feed once for everybody who follows it. */

import type { Clock } from '../../domain/ports.ts';
import type { Engine } from '../../engine/engine.ts';
import type { Burst } from './burst.ts';
import { Bursts } from './bursts.ts';
import type { EventStream } from './event-stream.ts';
import { type FeedPlace, isAfter } from './feed-place.ts';

const TRY_AGAIN_MS = 1_000;

/**
 * A stream that is behind goes on at its own pace: it takes more only when its reader has taken what it has. Once it
 * has come to the end it joins the others, and from then on each event is handed to all at once, until it falls
 * behind again. Joining happens while the shared place stands still, so nothing slips through in between.
 */
export class FeedReader {
  readonly #engine: Engine;
  readonly #clock: Clock;
  readonly #onError: (error: unknown) => void;
  readonly #bursts: Bursts;
  readonly #followers = new Set<EventStream>();
  #joining: EventStream[] = [];
  #place: FeedPlace = { pos: 0, ordinal: 0 };
  #eventBytes = 1;
  #unwatch: (() => void) | null = null;
  #reading = false;
  #again = false;

  constructor(engine: Engine, clock: Clock, onError: (error: unknown) => void) {
    this.#engine = engine;
    this.#clock = clock;
    this.#onError = onError;
    this.#bursts = new Bursts((after, limit) => engine.jobs.feed(after, limit), clock);
  }

  follow(stream: EventStream): void {
    this.#comeNear(stream).catch((error: unknown) => {
      // Its reader comes back to where it was, to a server that can read again by then.
      this.#onError(error);
      stream.close('closed, because the events could not be read');
    });
  }

  async #comeNear(stream: EventStream): Promise<void> {
    do {
      if (stream.isBehind) await stream.drained();
      // Sockets get to send, and other requests to be served.
      await nextRound();
    } while (stream.isOpen && ((await this.#advance(stream)) || stream.isBehind));
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
        while (this.#followers.size > 0 && (await this.#advanceAll())) await nextRound();
      }
    } finally {
      this.#reading = false;
    }
  }

  async #admitJoining(): Promise<void> {
    for (let stream = this.#joining[0]; stream !== undefined; stream = this.#joining[0]) {
      if (this.#followers.size === 0) this.#place = stream.place;
      while (stream.isOpen && !stream.isBehind && isAfter(this.#place, stream.place)) {
        if (!(await this.#advance(stream))) stream.skipTo(this.#place);
      }
      // It may have left while its events were read.
      if (this.#joining[0] !== stream) continue;
      this.#joining.shift();
      this.#admit(stream);
    }
  }

  /** Nobody waits for a slow one here: it goes back to reading for itself. */
  #admit(stream: EventStream): void {
    if (stream.isBehind) this.follow(stream);
    else if (stream.isOpen) this.#followers.add(stream);
  }

  /** One burst for one stream. Answers whether there may be more. */
  #advance(stream: EventStream): Promise<boolean> {
    return this.#bursts.next(stream.place, stream.eventBytes, (burst) => stream.take(burst));
  }

  /** One burst for all. */
  #advanceAll(): Promise<boolean> {
    return this.#bursts.next(this.#place, this.#eventBytes, (burst) => this.#handToAll(burst));
  }

  /** Whoever has not sent the last burst by now goes on at its own pace. */
  #handToAll(burst: Burst): void {
    this.#place = burst.last;
    this.#eventBytes = burst.eventBytes;
    for (const stream of this.#followers) {
      if (!stream.isBehind) {
        stream.take(burst);
      } else {
        this.#followers.delete(stream);
        this.follow(stream);
      }
    }
  }
}

function nextRound(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
