/** What one principal may do and have open at once, so that nobody uses up what the others need. */

import { principalOf } from '../domain/actor.ts';
import type { Actor } from '../domain/command.ts';
import { SpineError } from '../domain/error.ts';
import type { Clock } from '../domain/ports.ts';
import { type BodyLimits, type Limit, OpenBodies } from './open-bodies.ts';

/**
 * How a call counts. `lease` calls keep or end a lease and are never refused for what else their caller does, nor are
 * `beat` calls, which keep a slot: their rate counts by itself. `job` calls make or take work; `write` calls leave
 * something behind; `read` calls look; a `stream` stays open.
 */
export type Load = 'lease' | 'beat' | 'job' | 'write' | 'read' | 'stream';

export type LimitedRole = Exclude<Actor['role'], 'system'>;

export interface CallLimitSettings extends BodyLimits {
  readonly perSecond: Readonly<Record<LimitedRole, Limit>>;
  readonly openCalls: Readonly<Record<LimitedRole, Limit>>;
  readonly openStreams: Limit;
}

/** Which calls a rate is for: workers make and take jobs as fast as they can. */
const RATED: Readonly<Record<LimitedRole, readonly Load[]>> = {
  head: ['write', 'beat', 'read', 'stream'],
  worker: ['write', 'beat', 'stream'],
  viewer: ['write', 'read', 'stream'],
  run: ['job', 'write', 'read', 'stream'],
};

/** After a pause a caller may send as many at once as in so many seconds. */
const BURST_S = 2;
/** Smaller bodies are not counted: they take less than the call itself. */
const SMALL_BODY_BYTES = 16_384;
/** With more principals than this, those who have nothing open and have not called lately are forgotten. */
const REMEMBERED = 1_000;

/** How many calls may be sent now, as of then. */
interface Allowance {
  left: number;
  asOf: number;
}

interface Principal {
  readonly name: string;
  calls: number;
  streams: number;
  readonly allowance: Allowance;
  readonly beats: Allowance;
}

export class CallLimits {
  readonly #settings: CallLimitSettings;
  readonly #clock: Clock;
  readonly #principals = new Map<string, Principal>();
  readonly #bodies: OpenBodies;
  /** Of calls that keep or end a lease or a slot: no other may stand in their way. */
  readonly #keepingBodies: OpenBodies;

  constructor(settings: CallLimitSettings, clock: Clock) {
    this.#settings = settings;
    this.#bodies = new OpenBodies(settings);
    this.#keepingBodies = new OpenBodies(settings);
    this.#clock = clock;
  }

  /** How many principals are remembered. */
  get size(): number {
    return this.#principals.size;
  }

  /** Lets a call in and answers what to do when it has ended, or why it is refused; null where nothing is counted. */
  enter(actor: Actor, load: Load, bodyBytes: number): (() => void) | SpineError | null {
    const bytes = bodyBytes > SMALL_BODY_BYTES ? bodyBytes : 0;
    if ((load === 'lease' && bytes === 0) || actor.role === 'system') return null;
    const principal = this.#find(actor, actor.role);
    const isOpen = !keeps(load);
    const refusal = isOpen
      ? (this.#openRefusal(principal, actor.role, load) ??
        this.#rateRefusal(principal, principal.allowance, actor.role, load))
      : this.#rateRefusal(principal, principal.beats, actor.role, load);
    if (refusal !== null) return refusal;
    const bodies = isOpen ? this.#bodies : this.#keepingBodies;
    const sent = bytes === 0 ? null : bodies.enter(actor, bytes);
    if (sent instanceof SpineError) return sent;
    if (isOpen) count(principal, load, 1);
    return () => {
      sent?.();
      if (isOpen) count(principal, load, -1);
    };
  }

  #find(actor: Actor, role: LimitedRole): Principal {
    const name = principalOf(actor);
    const known = this.#principals.get(name);
    if (known !== undefined) return known;
    if (this.#principals.size >= REMEMBERED) this.#forgetIdle();
    const left = this.#settings.perSecond[role].most * BURST_S;
    const asOf = this.#clock.now();
    const fresh = {
      name,
      calls: 0,
      streams: 0,
      allowance: { left, asOf },
      beats: { left, asOf },
    };
    this.#principals.set(name, fresh);
    return fresh;
  }

  /** Whoever has not called for as long as a burst takes to grow again is like new. */
  #forgetIdle(): void {
    const since = this.#clock.now() - BURST_S * 1_000;
    for (const [name, { calls, streams, allowance, beats }] of this.#principals)
      if (calls + streams === 0 && Math.max(allowance.asOf, beats.asOf) < since)
        this.#principals.delete(name);
  }

  #openRefusal(principal: Principal, role: LimitedRole, load: Load): SpineError | null {
    const isStream = load === 'stream';
    const limit = isStream ? this.#settings.openStreams : this.#settings.openCalls[role];
    const open = isStream ? principal.streams : principal.calls;
    if (limit.most === 0 || open < limit.most) return null;
    return refusal(principal, limit, `${limit.most} ${isStream ? 'event streams' : 'calls'} open`);
  }

  #rateRefusal(principal: Principal, allowance: Allowance, role: LimitedRole, load: Load): SpineError | null {
    const limit = this.#settings.perSecond[role];
    if (limit.most === 0 || !RATED[role].includes(load)) return null;
    const now = this.#clock.now();
    const grown = allowance.left + ((now - allowance.asOf) / 1_000) * limit.most;
    allowance.left = Math.min(limit.most * BURST_S, grown);
    allowance.asOf = now;
    if (allowance.left < 1) return refusal(principal, limit, `sent ${limit.most} calls a second`);
    allowance.left -= 1;
    return null;
  }
}

/** Whether the call keeps or ends something that its caller holds. */
function keeps(load: Load): boolean {
  return load === 'lease' || load === 'beat';
}

function count(principal: Principal, load: Load, by: 1 | -1): void {
  if (load === 'stream') principal.streams += by;
  else principal.calls += by;
}

function refusal({ name }: Principal, { most, setting }: Limit, has: string): SpineError {
  const problem = `${name} has ${has}; ${setting} allows no more.`;
  return new SpineError('rate_limited', { problem, limit: most, setting, retryAfterS: 1 });
}
