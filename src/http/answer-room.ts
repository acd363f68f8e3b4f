/**
 * Room for large answers. Each is counted from before it is read until it is sent, so that many at once, or callers that
 * do not read what they asked for, cannot fill the memory. Further ones wait, in the order of asking.
 */

import type { ServerResponse } from 'node:http';
import { ownerOf } from '../domain/actor.ts';
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
  readonly owner: string;
  readonly bytes: number;
  /** How full the room may be with it. */
  readonly most: number;
  readonly enter: () => void;
}

/** Whoever would have to wait longer is told to come back. */
const WAIT_MS = 10_000;
/** So long an answer may take to be sent, once it has room: a page at 140 KB a second. */
const TAKEN_WITHIN_MS = 60_000;
/** What is already done waits until those who were first are gone, and then somewhat, before its outcome is called unknown. */
const DONE_WAIT_MS = TAKEN_WITHIN_MS + WAIT_MS;
/** Answers that only show something leave the rest of the room to those of work that is done. */
const SHOWN_SHARE = 3 / 4;
/** All of them leave some for claims to begin: most jobs are small, and then need no room. */
const DONE_SHARE = 7 / 8;

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
   * for it. `done` says that a commit has to be told of: it waits longer, and finds room where others do not.
   */
  async take(asking: Asking, bytes: number, done = false): Promise<Place> {
    const { actor, reply } = asking;
    const most = this.#total * (done ? DONE_SHARE : SHOWN_SHARE);
    // The largest have all of it that is for their kind.
    const wanted = bytes > LIMITS.smallBytes ? Math.min(bytes, most) : 0;
    const known = this.#places.get(reply.raw);
    if (known !== undefined) return known.grow(wanted);
    const owner = ownerOf(actor);
    const place = new Place(this, owner, most);
    this.#places.set(reply.raw, place);
    if (wanted === 0 || place.tryGrow(wanted)) this.#leaveWith(reply.raw, place);
    else {
      const enter = (): void => this.#leaveWith(reply.raw, place.grow(wanted));
      await this.#waitForRoom(reply, { owner, bytes: wanted, most }, done ? DONE_WAIT_MS : WAIT_MS, enter);
    }
    return place;
  }

  /**
   * Resolves when there is room for one more; takes none. Most callers need not wait: what a worker, or a run of it,
   * has not taken yet keeps it from no further work.
   */
  opened({ actor, reply }: Asking): Promise<void> | null {
    if (this.#taken + LIMITS.smallBytes <= this.#total) return null;
    const wanted = { owner: ownerOf(actor), bytes: LIMITS.smallBytes, most: this.#total };
    return this.#waitForRoom(reply, wanted, WAIT_MS, () => undefined);
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

  #waitForRoom(
    reply: Asking['reply'],
    wanted: Omit<Waiting, 'enter'>,
    waitMs: number,
    enter: () => void,
  ): Promise<void> {
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
        ...wanted,
        enter: () => {
          stop();
          enter();
          resolve();
        },
      };
      const timeOut = this.#clock.after(waitMs, leave);
      reply.raw.once('close', leave);
      this.#waiting.push(waiting);
      this.#admit();
    });
  }

  #fits({ owner, bytes, most }: Omit<Waiting, 'enter'>): boolean {
    const held = this.#held.get(owner) ?? 0;
    return this.#taken + bytes <= most && (held === 0 || held + bytes <= this.#each);
  }

  /** Whether so much more could be taken now by whoever has a place, without anybody having to wait for it. */
  hasRoomFor(owner: string, bytes: number, most: number): boolean {
    return this.#waiting.length === 0 && this.#fits({ owner, bytes, most });
  }

  change(owner: string, bytes: number): void {
    this.#taken += bytes;
    const held = (this.#held.get(owner) ?? 0) + bytes;
    if (held === 0) this.#held.delete(owner);
    else this.#held.set(owner, held);
    if (bytes < 0) this.#admit();
  }

  /**
   * Those who were first come first, except that nobody waits for another who has all he may have, nor for one whose
   * kind is let in less far.
   */
  #admit(): void {
    let closed = 0;
    for (const waiting of this.#waiting) {
      if (waiting.most <= closed) continue;
      if (this.#taken + waiting.bytes > waiting.most) closed = waiting.most;
      else if (this.#fits(waiting)) waiting.enter();
    }
  }
}

/** The room that one reply has. */
export class Place {
  readonly #room: AnswerRoom;
  readonly #owner: string;
  readonly #most: number;
  #bytes = 0;
  #left = false;

  constructor(room: AnswerRoom, owner: string, most: number) {
    this.#room = room;
    this.#owner = owner;
    this.#most = most;
  }

  /** Takes so much more in any case. */
  grow(bytes: number): this {
    if (this.#left) return this;
    this.#bytes += bytes;
    this.#room.change(this.#owner, bytes);
    return this;
  }

  /** Takes so much more if nobody has to wait for it. */
  tryGrow(bytes: number): boolean {
    if (this.#left || !this.#room.hasRoomFor(this.#owner, bytes, this.#most)) return false;
    this.grow(bytes);
    return true;
  }

  leave(): void {
    if (this.#bytes > 0) this.#room.change(this.#owner, -this.#bytes);
    this.#bytes = 0;
    this.#left = true;
  }
}
