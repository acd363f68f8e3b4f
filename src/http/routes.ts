/** A route as a row: who may call, what it takes, one engine call, one mapper. */

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Static, TObject, TSchema } from 'typebox';
import type { Actor } from '../domain/command.ts';
import { SpineError } from '../domain/error.ts';
import type { Engine } from '../engine/engine.ts';
import type { Authenticate } from './auth.ts';
import { NoFields } from './schemas.ts';
import { checker } from './validation.ts';

export type Method = 'GET' | 'POST' | 'PUT' | 'DELETE';
export type Role = Actor['role'];

export interface Call<Body = unknown, Query = unknown> {
  readonly engine: Engine;
  readonly actor: Actor;
  readonly params: Readonly<Record<string, string>>;
  readonly query: Query;
  readonly body: Body;
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
}

/** JSON that is already text, or a value to be printed. */
export type Answer = string | object;

export interface Row<B extends TSchema = TSchema, Q extends TSchema = TSchema> {
  readonly method: Method;
  readonly path: string;
  readonly who: readonly Role[];
  readonly status?: number;
  readonly body?: B;
  readonly query?: Q;
  readonly params?: TObject;
  /** A further condition on who may call, for routes where that depends on the body. */
  readonly admits?: (actor: Actor, body: unknown) => boolean;
  readonly handle: (call: Call<Static<B>, Static<Q>>) => Promise<Answer>;
}

/** Ties a row's handler to its schemas, which are checked before it runs; then forgets them, so that rows fit in one table. */
export function row<B extends TSchema = typeof NoFields, Q extends TSchema = typeof NoFields>(
  described: Row<B, Q>,
): Row {
  return described;
}

const JSON_TYPE = 'application/json; charset=utf-8';

export function mount(
  app: FastifyInstance,
  rows: readonly Row[],
  engine: Engine,
  authenticate: Authenticate,
): void {
  for (const one of rows) {
    const check = checkRequest(one);
    app.route({
      method: one.method,
      url: one.path,
      onRequest: admit(one.who, authenticate),
      handler: async (request, reply) => {
        const problem = check(request);
        if (problem) throw problem;
        const { actor, params, query, body } = request as FastifyRequest & { params: Record<string, string> };
        const answer = await one.handle({ engine, actor, params, query, body, request, reply });
        if (one.status !== undefined) reply.code(one.status);
        reply.header('content-type', JSON_TYPE);
        return typeof answer === 'string' ? answer : JSON.stringify(answer);
      },
    });
  }
}

type Hook = (request: FastifyRequest, reply: FastifyReply, done: (error?: Error) => void) => void;

/** As in v0, a role that the route does not allow is told the same as no token at all. */
export function admit(who: readonly Role[], authenticate: Authenticate): Hook {
  return (request, _reply, done) => {
    const actor = authenticate(request.headers.authorization);
    if (actor === null || !who.includes(actor.role)) return done(new SpineError('unauthorized'));
    request.actor = actor;
    done();
  };
}

function checkRequest(one: Row): (request: FastifyRequest) => SpineError | null {
  const params = one.params ? checker(one.params, 'params') : null;
  const query = checker(one.query ?? NoFields, 'querystring');
  const body = one.method === 'POST' || one.method === 'PUT' ? checker(one.body ?? NoFields, 'body') : null;
  return (request) => {
    if (body) request.body ??= {};
    if (one.admits && !one.admits(request.actor, request.body)) return new SpineError('unauthorized');
    return params?.(request.params) ?? query(request.query) ?? body?.(request.body) ?? null;
  };
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Set before any handler of a route that needs a token. */
    actor: Actor;
    /** SHA-256 of the body as it came in; empty unless the call carries an Idempotency-Key. */
    bodyHash: string;
  }
}
