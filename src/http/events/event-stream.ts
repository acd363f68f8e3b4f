/** One open stream of events: what it wants, how far it has come, and whether its reader keeps up. */

import type { ServerResponse } from 'node:http';
import type { Clock } from '../../domain/ports.ts';
import type { Burst, FeedEvent } from './burst.ts';
import { type FeedPlace, isAfter, placeText } from './feed-place.ts';

/** With this much unsent a stream takes no more. */
const BEHIND_BYTES = 16_384;
/** Until the first events tell: few, in case they are large. */
const FIRST_GUESS_BYTES = 4_096;
const STALLED_MS = 15_000;
/** A closed stream whose reader does not read its last words is torn down after this. */
const LAST_WORDS_MS = 2_000;

export class EventStream {
  readonly #raw: ServerResponse;
  readonly #wants: (event: FeedEvent) => boolean;
  readonly #clock: Clock;
  /** All up to here was written, or passed over because nobody here wants it. */
  #place: FeedPlace;
  #eventBytes = FIRST_GUESS_BYTES;
  #ended = false;
  /** Somebody waits for the reader. */
  #onSent: () => void = () => undefined;

  constructor(raw: ServerResponse, place: FeedPlace, wants: (event: FeedEvent) => boolean, clock: Clock) {
    this.#raw = raw;
    this.#place = place;
    this.#wants = wants;
    this.#clock = clock;
  }

  get place(): FeedPlace {
    return this.#place;
  }

  /** How large the events were that it came to last, wanted or not. */
  get eventBytes(): number {
    return this.#eventBytes;
  }

  get isOpen(): boolean {
    return !this.#ended && !this.#raw.destroyed;
  }

  /** Says that the stream has begun, and where: a reader that is cut off before the first event knows where to go on. */
  begin(comment: string): void {
    this.#write(`${comment === '' ? '' : `: ${comment}\n`}retry: 1000\nid: ${placeText(this.#place)}\n\n`);
  }

  /** Takes what is new to it of a burst. Whoever wants all of it sends the same bytes as all others. */
  take(burst: Burst): void {
    if (!this.isOpen) return;
    const { events, last, bytes } = burst;
    const wanted = events.filter((event) => isAfter(event, this.#place) && this.#wants(event));
    this.skipTo(last);
    this.#eventBytes = burst.eventBytes;
    if (wanted.length === events.length) {
      burst.hold();
      this.#write(bytes, () => burst.release());
    } else if (wanted.length > 0) {
      this.#write(Buffer.concat(wanted.map((event) => event.bytes)));
    }
  }

  /** Nothing is left to be read up to here. */
  skipTo(place: FeedPlace): void {
    if (isAfter(place, this.#place)) this.#place = place;
  }

  /** A sign of life. It also moves the reader's place past events that it did not ask for. */
  keepAlive(): void {
    if (this.isOpen) this.#write(`: alive\nid: ${placeText(this.#place)}\n\n`);
  }

  /** Its reader does not take what was written: more would only fill this server's memory. */
  get isBehind(): boolean {
    return this.#raw.writableLength >= BEHIND_BYTES;
  }

  /** Waits until the reader has caught up; closes the stream when it does not. */
  async drained(): Promise<void> {
    if (!this.isOpen) return;
    const stalled = await new Promise<boolean>((resolve) => {
      const done = (isStalled: boolean): void => {
        cancel();
        this.#raw.off('close', onClose);
        this.#onSent = () => undefined;
        resolve(isStalled);
      };
      const onClose = (): void => done(false);
      const cancel = this.#clock.after(STALLED_MS, () => done(true));
      this.#raw.once('close', onClose);
      this.#onSent = () => {
        if (!this.isBehind) done(false);
      };
    });
    if (stalled) this.close('closed, because its reader stopped reading');
  }

  close(why: string): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#raw.end(`: ${why}; go on with Last-Event-ID: ${placeText(this.#place)}\n\n`);
    const cancel = this.#clock.after(LAST_WORDS_MS, () => this.#raw.destroy());
    this.#raw.once('close', cancel);
  }

  /** Node tells of a drain only above a mark of its own; what was sent it tells of every write. */
  #write(what: Buffer | string, onSent?: () => void): void {
    this.#raw.write(what, () => {
      onSent?.();
      this.#onSent();
    });
  }
}
