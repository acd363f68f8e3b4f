/**
 * The sessions of one server. A session is nothing but the names of its calls under way, so that one of them can be called
 * off: every call brings its token. Therefore a session that this server has not seen, because it began at another one
 * or before a restart, is taken up, and one that is forgotten loses nothing; only one that was ended stays ended.
 */

import { randomBytes } from 'node:crypto';
import type { Clock } from '../../../domain/ports.ts';
import type { RpcId } from './messages.ts';

/** Whoever has more loses the one that was idle longest; one with a call under way is not idle. */
const SESSIONS_PER_PRINCIPAL = 64;
const SESSIONS = 10_000;
const IDLE_MS = 86_400_000;
const ENDED_REMEMBERED = 10_000;
const ID_BYTES = 24;
const ID = /^[\w-]{32}$/;

export class Session {
  readonly id: string;
  readonly principal: string;
  readonly underWay = new Map<RpcId, AbortController>();
  usedAt = 0;

  constructor(id: string, principal: string) {
    this.id = id;
    this.principal = principal;
  }

  callOff(id: RpcId): void {
    this.underWay.get(id)?.abort();
  }

  end(): void {
    for (const call of this.underWay.values()) call.abort();
  }
}

export class Sessions {
  readonly #clock: Clock;
  /** Those that were idle longest come first. */
  readonly #known = new Map<string, Session>();
  readonly #ended = new Set<string>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get size(): number {
    return this.#known.size;
  }

  begin(principal: string): Session {
    return this.#add(new Session(randomBytes(ID_BYTES).toString('base64url'), principal));
  }

  /** The session of that id, if it is this principal's; null when it was ended, or is none of ours. */
  find(principal: string, id: string): Session | null {
    if (!ID.test(id) || this.#ended.has(keyOf(principal, id))) return null;
    const known = this.#known.get(keyOf(principal, id));
    if (known === undefined) return this.#add(new Session(id, principal));
    this.#touch(known);
    return known;
  }

  end(session: Session): void {
    const key = keyOf(session.principal, session.id);
    session.end();
    this.#known.delete(key);
    this.#ended.add(key);
    const [oldest] = this.#ended;
    if (this.#ended.size > ENDED_REMEMBERED && oldest !== undefined) this.#ended.delete(oldest);
  }

  #add(session: Session): Session {
    this.#forgetIdle();
    const own = [...this.#known.values()].filter(({ principal }) => principal === session.principal);
    if (own.length >= SESSIONS_PER_PRINCIPAL) this.#drop(own.find(isIdle));
    if (this.#known.size >= SESSIONS) this.#drop([...this.#known.values()].find(isIdle));
    this.#touch(session);
    return session;
  }

  #touch(session: Session): void {
    const key = keyOf(session.principal, session.id);
    session.usedAt = this.#clock.now();
    this.#known.delete(key);
    this.#known.set(key, session);
  }

  #forgetIdle(): void {
    const since = this.#clock.now() - IDLE_MS;
    for (const session of this.#known.values()) {
      if (session.usedAt > since) return;
      this.#drop(session);
    }
  }

  #drop(session: Session | undefined): void {
    if (session === undefined) return;
    session.end();
    this.#known.delete(keyOf(session.principal, session.id));
  }
}

/** What its client waits for is bounded by the calls that it may have open. */
function isIdle({ underWay }: Session): boolean {
  return underWay.size === 0;
}

/** An id says nothing to anybody else. */
function keyOf(principal: string, id: string): string {
  return `${id} ${principal}`;
}
