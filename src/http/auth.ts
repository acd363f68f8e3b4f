/** Who is calling: bearer tokens and the actors behind them. */

import { hash, timingSafeEqual } from 'node:crypto';
import type { Actor } from '../domain/command.ts';
import type { Engine } from '../engine/engine.ts';

export interface Credential {
  readonly token: string;
  readonly actor: Actor;
}

const ROLES = {
  head: { name: 'head', role: 'head', targets: null },
  left_claw: { name: 'left-claw', role: 'worker', targets: ['left-claw', 'any'] },
  right_claw: { name: 'right-claw', role: 'worker', targets: ['right-claw', 'any'] },
} as const satisfies Record<string, Actor>;

/** The three roles of v0; every role may have several tokens, so that one can be replaced while both work. */
export function credentialsOf(tokens: Readonly<Record<keyof typeof ROLES, readonly string[]>>): Credential[] {
  const roles = Object.keys(ROLES) as (keyof typeof ROLES)[];
  return roles.flatMap((role) => tokens[role].map((token) => ({ token, actor: ROLES[role] })));
}

export type Authenticate = (authorization: string | undefined) => Actor | null;

/** Compares digests of equal length, and always all of them, so that the time says nothing about a token. */
export function authenticator(credentials: readonly Credential[]): Authenticate {
  const known = credentials
    .filter(({ token }) => token !== '')
    .map(({ token, actor }) => ({ digest: digestOf(token), actor }));
  return (authorization) => {
    const token = bearerOf(authorization);
    if (token === null) return null;
    const digest = digestOf(token);
    let found: Actor | null = null;
    for (const one of known) {
      if (timingSafeEqual(one.digest, digest)) found = one.actor;
    }
    return found;
  };
}

/** Both kinds of tokens. The environment's are known at once; the others have to be looked up. */
export interface Gate {
  known: Authenticate;
  lookUp(authorization: string | undefined): Promise<Actor | null>;
}

export function gateOf(credentials: readonly Credential[], tokens: Engine['tokens']): Gate {
  return {
    known: authenticator(credentials),
    lookUp: async (authorization) => {
      const token = bearerOf(authorization);
      return token === null ? null : await tokens.actorBehind(token);
    },
  };
}

/** Whether the caller may go on as the actor that it was. The environment's tokens last as long as the server. */
export async function isStill(actor: Actor, gate: Gate, authorization: string | undefined): Promise<boolean> {
  if (gate.known(authorization) !== null) return true;
  const now = await gate.lookUp(authorization);
  return now?.role === actor.role && String(now.targets) === String(actor.targets);
}

function digestOf(token: string): Buffer {
  return hash('sha256', token, 'buffer');
}

function bearerOf(authorization: string | undefined): string | null {
  if (authorization === undefined) return null;
  return /^Bearer +(\S+)$/i.exec(authorization)?.[1] ?? null;
}
