/** Who is calling: bearer tokens and the actors behind them. */

import { hash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { Actor } from '../domain/command.ts';
import { type ErrorCode, SpineError } from '../domain/error.ts';
import { FIRST_ROLES, type FirstRole } from '../domain/token.ts';
import type { Parts } from './parts.ts';
import { type RefusedRoute, wrongRole } from './wrong-role.ts';

export interface Credential {
  readonly token: string;
  readonly actor: Actor;
}

/** Every role may have several tokens, so that one can be replaced while both work. */
export function credentialsOf(tokens: Readonly<Record<FirstRole, readonly string[]>>): Credential[] {
  const roles = Object.keys(FIRST_ROLES) as FirstRole[];
  return roles.flatMap((role) => tokens[role].map((token) => ({ token, actor: FIRST_ROLES[role] })));
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

/** Who calls at a door of one server. */
export interface Callers {
  /** Whoever is known at once; null for all who have to be looked up. */
  known(request: IncomingMessage): Actor | null;
  lookUp(request: IncomingMessage): Promise<Actor | null>;
  /** What somebody is told who may not call a route; `actor` is null when nobody knows who it is. */
  refusal(request: IncomingMessage, actor: Actor | null, route: RefusedRoute): SpineError;
}

/** A way to know callers. */
export interface Auth {
  /** Its name in the description; doors that know their callers in the same way share it. */
  readonly name: string;
  /** As OpenAPI describes it. */
  readonly scheme: Readonly<Record<string, unknown>>;
  /** Our own tokens open it: GET /me lists its calls. */
  readonly takesTokens?: true;
  /** What `WWW-Authenticate` says to whoever is not known. */
  readonly challenge: string;
  /** What its refusals can be. */
  readonly codes: readonly ErrorCode[];
  readonly open: (parts: Parts) => Callers;
}

/** Both kinds of tokens. The environment's are known at once; the others have to be looked up. */
export const bearerTokens: Auth = {
  name: 'token',
  scheme: { type: 'http', scheme: 'bearer' },
  takesTokens: true,
  challenge: 'Bearer',
  codes: ['unauthorized', 'wrong_role'],
  open: ({ credentials, engine }) => {
    return {
      known: rememberingConnections(authenticator(credentials)),
      lookUp: async ({ headers }) => {
        const token = bearerOf(headers.authorization);
        return token === null ? null : await engine.tokens.actorBehind(token);
      },
      refusal: (_, actor, route) =>
        actor === null ? new SpineError('unauthorized') : wrongRole(actor, route),
    };
  },
};

/**
 * A connection that sends the same header again is known by it: a create over HTTP is spared 4 of its 58 us. It is compared
 * with nothing but what came over that connection before, so the time says nothing about anybody's token. The tokens of
 * the environment stay as they are for as long as the server.
 */
function rememberingConnections(authenticate: Authenticate): (request: IncomingMessage) => Actor | null {
  const known = new WeakMap<Socket, { readonly header: string; readonly actor: Actor }>();
  return ({ headers: { authorization }, socket }) => {
    const before = known.get(socket);
    if (before !== undefined && before.header === authorization) return before.actor;
    const actor = authenticate(authorization);
    if (actor !== null && authorization !== undefined) known.set(socket, { header: authorization, actor });
    return actor;
  };
}

/** Whether the caller may go on as the actor that it was. Whoever is known at once stays so as long as the server. */
export async function isStill(actor: Actor, callers: Callers, request: IncomingMessage): Promise<boolean> {
  if (callers.known(request) !== null) return true;
  const now = await callers.lookUp(request);
  return now?.role === actor.role && String(now.targets) === String(actor.targets);
}

function digestOf(token: string): Buffer {
  return hash('sha256', token, 'buffer');
}

function bearerOf(authorization: string | undefined): string | null {
  if (authorization === undefined) return null;
  return /^Bearer +(\S+)$/i.exec(authorization)?.[1] ?? null;
}
