/** All open streams of one server: how many there may be, their signs of life, and who is still allowed to read. */

import type { ServerResponse } from 'node:http';
import { SpineError } from '../../domain/error.ts';
import type { Clock } from '../../domain/ports.ts';
import type { Engine } from '../../engine/engine.ts';
import type { FeedEvent } from './burst.ts';
import { EventStream } from './event-stream.ts';
import { FeedReader } from './feed-reader.ts';
import type { FeedPlace } from './feed-place.ts';

const MAX_STREAMS = 500;
const KEEP_ALIVE_MS = 15_000;

export interface Opening {
  readonly raw: ServerResponse;
  readonly place: FeedPlace;
  readonly wants: (event: FeedEvent) => boolean;
  /** A comment for people who look at the bytes; empty for none. */
  readonly comment: string;
  /** Whether the token that opened the stream still may. */
  readonly isStillAllowed: () => Promise<boolean>;
}

export class EventStreams {
  readonly #reader: FeedReader;
  readonly #clock: Clock;
  readonly #open = new Map<EventStream, () => Promise<boolean>>();
  readonly #forgetTokens: () => void;
  #cancelTimer: (() => void) | null = null;
  #closed = false;

  constructor(engine: Engine, clock: Clock, onError: (error: unknown) => void) {
    this.#reader = new FeedReader(engine, clock, onError);
    this.#clock = clock;
    this.#forgetTokens = engine.tokens.onChange(() => void this.#judgeAgain());
  }

  get size(): number {
    return this.#open.size;
  }

  /** Refuses before anything is written, so that the caller can still be answered in the usual way. */
  admitOne(): void {
    if (this.#closed) throw new SpineError('shutting_down');
    if (this.#open.size >= MAX_STREAMS)
      throw new SpineError('overloaded', { retryAfterS: 5, limit: MAX_STREAMS });
  }

  open({ raw, place, wants, comment, isStillAllowed }: Opening): void {
    const stream = new EventStream(raw, place, wants, this.#clock);
    this.#open.set(stream, isStillAllowed);
    raw.once('close', () => this.#leave(stream));
    stream.begin(comment);
    this.#cancelTimer ??= this.#clock.after(KEEP_ALIVE_MS, () => this.#keepAlive());
    this.#reader.follow(stream);
  }

  close(): void {
    this.#closed = true;
    this.#cancelTimer?.();
    this.#forgetTokens();
    for (const stream of this.#open.keys()) stream.close('closed, because this server is stopping');
  }

  #leave(stream: EventStream): void {
    this.#open.delete(stream);
    this.#reader.leave(stream);
  }

  #keepAlive(): void {
    this.#cancelTimer = null;
    for (const stream of this.#open.keys()) stream.keepAlive();
    // A lost hint costs at most this long.
    this.#reader.wake();
    if (this.#open.size > 0 && !this.#closed)
      this.#cancelTimer = this.#clock.after(KEEP_ALIVE_MS, () => this.#keepAlive());
  }

  async #judgeAgain(): Promise<void> {
    await Promise.all(
      [...this.#open].map(async ([stream, isStillAllowed]) => {
        // Whoever cannot be judged is not let go on.
        const may = await isStillAllowed().catch(() => false);
        if (!may) stream.close('closed, because the token is no longer valid');
      }),
    );
  }
}
