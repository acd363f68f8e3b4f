/** What waits for a commit or for the event loop: in the order of arrival while all of it fits in, and principal by principal when it does not. */

import { principalOf } from '../domain/actor.ts';
import type { Actor } from '../domain/command.ts';

export interface Piece {
  readonly actor: Actor;
  /** What it takes of a commit. */
  readonly weight: number;
}

interface Line<T> {
  /** A place that was left holds nothing: what stood there may be large. */
  readonly pieces: (T | undefined)[];
  /** How many of them have been taken. */
  taken: number;
}

/** Places of pieces that were taken are given up when there are this many, so that a line that is never empty stays short. */
const EMPTY_PLACES = 1_000;
/** Past the limit those with less than their share still get in, until there is this many times as much. */
const OVERFLOW = 2;

export class FairQueue<T extends Piece> {
  #arrived: T[] = [];
  #arrivedWeight = 0;
  /** There is a crowd: one line for each principal, and who is served next stands first. */
  readonly #lines = new Map<string, Line<T>>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  push(piece: T): void {
    this.#size++;
    if (this.#lines.size > 0) return this.#lineUp(piece);
    this.#arrived.push(piece);
    this.#arrivedWeight += piece.weight;
  }

  /** Takes pieces until they weigh that much: at least one while there is room, one of each principal in rotation. */
  take(room: number): T[] {
    if (room <= 0 || this.#size === 0) return [];
    if (this.#lines.size === 0) {
      if (this.#arrivedWeight <= room) return this.#takeAll();
      this.#formLines();
    }
    const taken: T[] = [];
    for (let left = room; left > 0 && this.#size > 0; left -= (taken.at(-1) as T).weight)
      taken.push(this.#takeOne());
    return taken;
  }

  /** Whether one more of this principal would be too much: with a full queue, for those who have the most in it. */
  isFullFor(actor: Actor, limit: number): boolean {
    if (this.#size < limit) return false;
    if (this.#size >= limit * OVERFLOW) return true;
    this.#formLines();
    const line = this.#lines.get(principalOf(actor));
    return line !== undefined && line.pieces.length - line.taken >= this.#size / this.#lines.size;
  }

  #takeAll(): T[] {
    const all = this.#arrived;
    this.#arrived = [];
    this.#arrivedWeight = 0;
    this.#size = 0;
    return all;
  }

  #formLines(): void {
    for (const piece of this.#arrived) this.#lineUp(piece);
    this.#arrived = [];
    this.#arrivedWeight = 0;
  }

  #lineUp(piece: T): void {
    const principal = principalOf(piece.actor);
    const line = this.#lines.get(principal);
    if (line === undefined) this.#lines.set(principal, { pieces: [piece], taken: 0 });
    else line.pieces.push(piece);
  }

  #takeOne(): T {
    // Only asked for while something waits in a line.
    const [principal, line] = this.#lines.entries().next().value as [string, Line<T>];
    const piece = line.pieces[line.taken] as T;
    line.pieces[line.taken++] = undefined;
    this.#size--;
    const isEmpty = line.taken === line.pieces.length;
    if (line.taken >= EMPTY_PLACES) line.pieces.splice(0, line.taken);
    if (line.taken >= EMPTY_PLACES) line.taken = 0;
    if (isEmpty || this.#lines.size > 1) this.#lines.delete(principal);
    // Served once, it stands behind all others.
    if (!isEmpty) this.#lines.set(principal, line);
    return piece;
  }
}
