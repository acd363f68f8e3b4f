/**
 * Room for large answers. Each is counted from before it is read until it is sent, so that many at once, or callers that
 * do not read what they asked for, cannot fill the memory. Further ones wait, in the order of asking.
 */

import type { ServerResponse } from 'node:http';
import { principalOf } from '../domain/actor.ts';
import type { Actor } from '../domain/command.ts';
import { SpineError } from '../domain/error.ts';
import { LIMITS } from '../domain/limits.ts';
import type { Clock } from '../domain/ports.ts';

/** Who is answered, and on what: room is given back when the reply is closed. */
interface Asking {
  readonly actor: Actor;
  readonly reply: { readonly raw: ServerResponse };
}

interface Waiting {
  readonly principal: string;
  readonly bytes: number;
  readonly enter: () => void;
}

/** Whoever would have to wait longer is told to come back. What is already done waits until it can be told. */
const WAIT_MS = 10_000;
/** So long an answer may take to be sent, once it has room: a page at 140 KB a second. */
const TAKEN_WITHIN_MS = 60_000;

export class AnswerRoom {
  readonly #clock: Clock;
  readonly #total: number;
  /** What one caller may have for several answers. */
  readonly #each: number;
  readonly #held = new Map<string, number>();
  readonly #places = new WeakMap<ServerResponse, Place>();
  #taken = 0;
  #waiting: Waiting[] = [];

  constructor(totalBytes: number, clock: Clock) {
    this.#clock = clock;
    this.#total = totalBytes;
    this.#each = totalBytes / 2;
  }

  /**
   * Room for an answer of about so many bytes. A reply that has some gets more at once: it would wait for those who wait
   * for it. `done` says that a commit has to be told of, however long that takes.
   */
  async take(asking: Asking, bytes: number, done = false): Promise<Place> {
    const { actor, reply } = asking;
    // The largest have it all to themselves.
    const wanted = bytes > LIMITS.smallBytes ? Math.min(bytes, this.#total) : 0;
    const known = this.#places.get(reply.raw);
    if (known !== undefined) return known.grow(wanted);
    const place = new Place(this, principalOf(actor));
    this.#places.set(reply.raw, place);
    if (wanted === 0 || place.tryGrow(wanted)) this.#leaveWith(reply.raw, place);
    else await this.#waitForRoom(asking, wanted, done, () => this.#leaveWith(reply.raw, place.grow(wanted)));
    return place;
  }

  /** Resolves when there is room for one more; takes none. Most callers need not wait. */
  opened(asking: Asking): Promise<void> | null {
    if (this.#fits(principalOf(asking.actor), LIMITS.smallBytes)) return null;
    return this.#waitForRoom(asking, LIMITS.smallBytes, false, () => undefined);
  }

  /** The reply's end gives its room to others; whoever does not take its answer keeps them from theirs. */
  #leaveWith(raw: ServerResponse, place: Place): void {
    if (raw.destroyed) return place.leave();
    const tooLong = this.#clock.after(TAKEN_WITHIN_MS, () => raw.destroy());
    raw.once('close', () => {
      tooLong();
      place.leave();
    });
  }

  #waitForRoom({ actor, reply }: Asking, bytes: number, done: boolean, enter: () => void): Promise<void> {
    return new Promise((resolve, reject) => {
      const stop = (): void => {
        timeOut();
        reply.raw.off('close', leave);
        this.#waiting = this.#waiting.filter((one) => one !== waiting);
      };
      const leave = (): void => {
        stop();
        reject(new SpineError('overloaded', { retryAfterS: 1 }));
      };
      const waiting: Waiting = {
        principal: principalOf(actor),
        bytes,
        enter: () => {
          stop();
          enter();
          resolve();
        },
      };
      const timeOut = done ? () => undefined : this.#clock.after(WAIT_MS, leave);
      reply.raw.once('close', leave);
      this.#waiting.push(waiting);
      this.#admit();
    });
  }

  #fits(principal: string, bytes: number): boolean {
    const held = this.#held.get(principal) ?? 0;
    return this.#taken + bytes <= this.#total && (held === 0 || held + bytes <= this.#each);
  }

  /** Whether so much more could be taken now by whoever has a place, without anybody having to wait for it. */
  hasRoomFor(principal: string, bytes: number): boolean {
    return this.#waiting.length === 0 && this.#fits(principal, bytes);
  }

  change(principal: string, bytes: number): void {
    this.#taken += bytes;
    const held = (this.#held.get(principal) ?? 0) + bytes;
    if (held === 0) this.#held.delete(principal);
    else this.#held.set(principal, held);
    if (bytes < 0) this.#admit();
  }

  /** Those who were first come first, except that nobody waits for another who has all he may have. */
  #admit(): void {
    for (const waiting of this.#waiting) {
      if (this.#taken + waiting.bytes > this.#total) return;
      if (this.#fits(waiting.principal, waiting.bytes)) waiting.enter();
    }
  }
}

/** The room that one reply has. */
export class Place {
  readonly #room: AnswerRoom;
  readonly #principal: string;
  #bytes = 0;
  #left = false;

  constructor(room: AnswerRoom, principal: string) {
    this.#room = room;
    this.#principal = principal;
  }

  /** Takes so much more in any case. */
  grow(bytes: number): this {
    if (this.#left) return this;
    this.#bytes += bytes;
    this.#room.change(this.#principal, bytes);
    return this;
  }

  /** Takes so much more if nobody has to wait for it. */
  tryGrow(bytes: number): boolean {
    if (this.#left || !this.#room.hasRoomFor(this.#principal, bytes)) return false;
    this.grow(bytes);
    return true;
  }

  leave(): void {
    if (this.#bytes > 0) this.#room.change(this.#principal, -this.#bytes);
    this.#bytes = 0;
    this.#left = true;
  }
}
