/** One open stream of events: what it wants, how far it has come, and how much it may leave unread. */

import type { ServerResponse } from 'node:http';
import type { Clock } from '../../domain/ports.ts';
import type { Engine } from '../../engine/engine.ts';
import { type FeedPlace, isAfter, placeText } from './place.ts';

export type FeedEvent = Awaited<ReturnType<Engine['jobs']['feed']>>[number];

/** What a reader may leave unread before its stream is closed. */
const UNSENT_LIMIT_BYTES = 1_048_576;
/** Gathered before it is written, so that many small events cost few writes. */
const WRITE_CHARS = 65_536;
/** Above this, a reader of old events is waited for. */
const PATIENT_BYTES = 262_144;
const STALLED_MS = 15_000;
/** A closed stream whose reader does not read its last words is torn down after this. */
const LAST_WORDS_MS = 2_000;

export class EventStream {
  readonly #raw: ServerResponse;
  readonly #wants: (event: FeedEvent) => boolean;
  readonly #clock: Clock;
  /** All that was written, or passed over because nobody here wants it. */
  #place: FeedPlace;
  #written: FeedPlace;
  #pending = '';
  #ended = false;

  constructor(raw: ServerResponse, place: FeedPlace, wants: (event: FeedEvent) => boolean, clock: Clock) {
    this.#raw = raw;
    this.#place = place;
    this.#written = place;
    this.#wants = wants;
    this.#clock = clock;
  }

  get place(): FeedPlace {
    return this.#place;
  }

  get isOpen(): boolean {
    return !this.#ended && !this.#raw.destroyed;
  }

  /** Says that the stream has begun, and where: a reader that is cut off before the first event knows where to go on. */
  begin(note: string): void {
    this.#write(`${note === '' ? '' : `: ${note}\n`}retry: 1000\nid: ${placeText(this.#place)}\n\n`);
  }

  /** Takes the next event of the feed. What it has already is passed over. */
  take(event: FeedEvent, text: () => string): void {
    if (this.#ended || !isAfter(event, this.#place)) return;
    if (this.#wants(event)) {
      this.#pending += text();
      this.#place = event;
      if (this.#pending.length > WRITE_CHARS) this.flush();
    } else {
      this.#place = event;
    }
  }

  /** Nothing is left to be read up to here. */
  skipTo(place: FeedPlace): void {
    if (isAfter(place, this.#place)) this.#place = place;
  }

  flush(): void {
    const text = this.#pending;
    this.#pending = '';
    if (this.isOpen && (text === '' || this.#write(text))) this.#written = this.#place;
  }

  /** A sign of life. It also moves the reader's place past events that it did not ask for. */
  keepAlive(): void {
    if (this.isOpen) this.#write(`: alive\nid: ${placeText(this.#place)}\n\n`);
  }

  get isBehind(): boolean {
    return this.#raw.writableLength >= PATIENT_BYTES;
  }

  /** Waits until the reader has caught up; closes the stream when it does not. */
  async drained(): Promise<void> {
    if (!this.isOpen) return;
    const stalled = await new Promise<boolean>((resolve) => {
      const done = (isStalled: boolean): void => {
        cancel();
        this.#raw.off('drain', onDrain).off('close', onDrain);
        resolve(isStalled);
      };
      const onDrain = (): void => done(false);
      const cancel = this.#clock.after(STALLED_MS, () => done(true));
      this.#raw.once('drain', onDrain).once('close', onDrain);
    });
    if (stalled) this.#cut();
  }

  close(why: string): void {
    if (this.#ended) return;
    this.flush();
    if (!this.#ended) this.#end(why);
  }

  #write(text: string): boolean {
    const bytes = Buffer.from(text);
    if (this.#raw.writableLength + bytes.length > UNSENT_LIMIT_BYTES) {
      this.#cut();
      return false;
    }
    this.#raw.write(bytes);
    return true;
  }

  #cut(): void {
    this.#end('closed, because too much was left unread');
  }

  #end(why: string): void {
    this.#ended = true;
    this.#pending = '';
    this.#raw.end(`: ${why}; go on with Last-Event-ID: ${placeText(this.#written)}\n\n`);
    const cancel = this.#clock.after(LAST_WORDS_MS, () => this.#raw.destroy());
    this.#raw.once('close', cancel);
  }
}
