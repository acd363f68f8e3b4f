/** What bodies that are under way take in memory: for each caller, and for all of them together. */

import { ownerOf, principalOf } from '../domain/actor.ts';
import type { Actor } from '../domain/command.ts';
import { SpineError } from '../domain/error.ts';

export interface Limit {
  /** 0 is no limit. */
  readonly most: number;
  /** Which setting says so. */
  readonly setting: string;
}

export interface BodyLimits {
  /** Of one token, with all runs of what it holds. */
  readonly openBodyBytes: Limit;
  readonly allOpenBodyBytes: Limit;
}

/** A worker makes as many runs as it likes, so they share what it may have; none of them can take all of it. */
const RUNS_SHARE = 1 / 2;
/** Past the limit for all, those with less than their share still get in, until there is this many times as much. */
const OVERFLOW = 2;

export class OpenBodies {
  readonly #limits: BodyLimits;
  readonly #byOwner = new Map<string, number>();
  readonly #byRun = new Map<string, number>();
  #all = 0;

  constructor(limits: BodyLimits) {
    this.#limits = limits;
  }

  /** Counts a body, and answers what to do when its call has ended, or why it is refused. */
  enter(actor: Actor, bytes: number): (() => void) | SpineError {
    const owner = ownerOf(actor);
    const run = actor.role === 'run' ? principalOf(actor) : null;
    const refusal = this.#refusal(owner, run, bytes);
    if (refusal !== null) return refusal;
    this.#count(owner, run, bytes);
    return () => this.#count(owner, run, -bytes);
  }

  /** One body is always let in, however large bodies may be. */
  #refusal(owner: string, run: string | null, bytes: number): SpineError | null {
    const { openBodyBytes, allOpenBodyBytes } = this.#limits;
    const { most } = openBodyBytes;
    if (run !== null && isTooMuch(this.#byRun.get(run) ?? 0, bytes, most * RUNS_SHARE))
      return tooMany(run, openBodyBytes, most * RUNS_SHARE);
    if (isTooMuch(this.#byOwner.get(owner) ?? 0, bytes, most)) return tooMany(owner, openBodyBytes, most);
    return this.#isTooMuchForAll(owner, bytes)
      ? tooMany('Everybody together', allOpenBodyBytes, allOpenBodyBytes.most)
      : null;
  }

  #isTooMuchForAll(owner: string, bytes: number): boolean {
    const { most } = this.#limits.allOpenBodyBytes;
    if (!isTooMuch(this.#all, bytes, most)) return false;
    if (this.#all + bytes > most * OVERFLOW) return true;
    const own = this.#byOwner.get(owner);
    const owners = this.#byOwner.size + (own === undefined ? 1 : 0);
    return (own ?? 0) + bytes > most / owners;
  }

  #count(owner: string, run: string | null, bytes: number): void {
    this.#all += bytes;
    add(this.#byOwner, owner, bytes);
    if (run !== null) add(this.#byRun, run, bytes);
  }
}

function isTooMuch(open: number, bytes: number, most: number): boolean {
  return most > 0 && open > 0 && open + bytes > most;
}

function add(counts: Map<string, number>, name: string, bytes: number): void {
  const sum = (counts.get(name) ?? 0) + bytes;
  if (sum === 0) counts.delete(name);
  else counts.set(name, sum);
}

function tooMany(name: string, { most: limit, setting }: Limit, most: number): SpineError {
  const problem = `${name} has bodies of ${most} bytes under way; ${setting} allows no more.`;
  return new SpineError('rate_limited', { problem, limit, setting, retryAfterS: 1 });
}
