/** A route as a row: who may call, what it takes and answers, one engine call, one mapper. */

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Static, TObject, TSchema } from 'typebox';
import type { Actor } from '../domain/command.ts';
import { type ErrorCode, SpineError } from '../domain/error.ts';
import type { Engine } from '../engine/engine.ts';
import type { Gate } from './auth.ts';
import type { CallLimits, Load } from './call-limits.ts';
import type { Parts } from './parts.ts';
import { NoFields } from './schemas.ts';
import { checker } from './validation.ts';

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
export type Role = Exclude<Actor['role'], 'system'>;

export interface Call<Body = unknown, Query = unknown> {
  readonly engine: Engine;
  readonly actor: Actor;
  readonly params: Readonly<Record<string, string>>;
  readonly query: Query;
  readonly body: Body;
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly parts: Parts;
}

/** JSON that is already text, a value to be printed, or the reply itself when the handler has seen to it. */
export type Answer = string | object;

/** What can be said about a route without running it. */
export interface Described {
  readonly method: Method;
  readonly path: string;
  /** Unique among all routes; programs that are made from the description call it so. */
  readonly name: string;
  readonly about: string;
  readonly who: readonly Role[] | 'anyone';
  /** How a call counts against what its caller may do; unless said, a GET is a `read` and everything else a `note`. */
  readonly load?: Load;
  readonly status?: number;
  readonly body?: TSchema;
  /** The body is a form with one file. */
  readonly upload?: true;
  readonly query?: TSchema;
  readonly params?: TObject;
  readonly headers?: TObject;
  readonly answer: TSchema;
  /** The type of what is answered, unless it is JSON. */
  readonly media?: string;
  /** Whoever has it already is told so, and nothing else. */
  readonly cached?: true;
  /** Refusals of its own, beside those that every route may give. */
  readonly errors?: readonly ErrorCode[];
}

export interface Row<B extends TSchema = TSchema, Q extends TSchema = TSchema> extends Described {
  readonly body?: B;
  readonly query?: Q;
  /** A further condition on who may call, for routes where that depends on the body. */
  readonly admits?: (actor: Actor, body: unknown) => boolean;
  /** Open to tokens that stand in prompts, too. */
  readonly forShownTokens?: true;
  readonly handle: (call: Call<Static<B>, Static<Q>>) => Promise<Answer>;
}

/** Ties a row's handler to its schemas, which are checked before it runs; then forgets them, so that rows fit in one table. */
export function row<B extends TSchema = typeof NoFields, Q extends TSchema = typeof NoFields>(
  described: Row<B, Q>,
): Row {
  return described;
}

/** Shorter texts are sent as they are: bytes are memory outside the heap, to be asked for and given back. */
const LONG_CHARS = 16_384;

const JSON_TYPE = 'application/json; charset=utf-8';

export function mount(app: FastifyInstance, rows: readonly Row[], parts: Parts): void {
  const { engine, gate, counts, limits } = parts;
  for (const one of rows) {
    const check = checkRequest(one);
    const count = counts.of(one.method, one.path);
    const type = one.media ?? JSON_TYPE;
    const status = one.status ?? 200;
    const load = one.load ?? (one.method === 'GET' ? 'read' : 'note');
    app.route({
      method: one.method,
      url: one.path,
      ...(one.who !== 'anyone' && {
        onRequest: admit(one, one.who, gate, one.upload ? () => 0 : bodyBytes, load, limits),
      }),
      handler: async (request, reply) => {
        const problem = check(request);
        if (problem) throw problem;
        const { actor, params, query, body } = request as FastifyRequest & { params: Record<string, string> };
        const answer = await one.handle({ engine, actor, params, query, body, request, reply, parts });
        if (answer === reply) {
          count(reply.raw.headersSent ? reply.raw.statusCode : reply.statusCode);
          return reply;
        }
        count(status);
        reply.code(status).header('content-type', type);
        return sendable(typeof answer === 'string' ? answer : JSON.stringify(answer));
      },
    });
  }
}

/** A text is put behind its headers in one more text, which for a long one is a copy; bytes are sent from where they lie. */
function sendable(answer: string): string | Buffer {
  return answer.length < LONG_CHARS ? answer : Buffer.from(answer);
}

/** Calls `done` when it is done at once, or answers a promise: most callers are spared the turn that a promise costs. */
type Hook = (
  request: FastifyRequest,
  reply: FastifyReply,
  done: (error?: Error) => void,
) => void | Promise<void>;

/** What the body takes in memory while the call is under way. One that does not say so may be as large as bodies can be. */
function bodyBytes({ headers, routeOptions }: FastifyRequest): number {
  const length = headers['content-length'];
  if (length !== undefined) return Number(length);
  return headers['transfer-encoding'] === undefined ? 0 : (routeOptions.bodyLimit ?? 0);
}

/** As in v0, a role that the route does not allow is told the same as no token at all. */
function admit(
  { forShownTokens }: Pick<Row, 'forShownTokens'>,
  who: readonly Role[],
  gate: Gate,
  bytesOf: (request: FastifyRequest) => number,
  load: Load,
  limits: CallLimits,
): Hook {
  const roles: readonly Actor['role'][] = who;
  const enter = (
    request: FastifyRequest,
    reply: FastifyReply,
    actor: Actor | null,
  ): SpineError | undefined => {
    if (actor === null || !roles.includes(actor.role)) return new SpineError('unauthorized');
    if (actor.shown && forShownTokens !== true) return new SpineError('unauthorized');
    request.actor = actor;
    const leave = limits.enter(actor, load, bytesOf(request));
    if (leave instanceof SpineError) return leave;
    if (leave !== null) reply.raw.once('close', leave);
    return undefined;
  };
  const lookUp = async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    const problem = enter(request, reply, await gate.lookUp(request.headers.authorization));
    if (problem) throw problem;
  };
  return (request, reply, done) => {
    const { authorization } = request.headers;
    const known = gate.known(authorization);
    return known === null ? lookUp(request, reply) : done(enter(request, reply, known));
  };
}

function checkRequest(one: Row): (request: FastifyRequest) => SpineError | null {
  const params = one.params ? checker(one.params, 'params') : null;
  const query = checker(one.query ?? NoFields, 'querystring');
  const takesBody = one.method !== 'GET' && one.method !== 'DELETE' && !one.upload;
  const body = takesBody ? checker(one.body ?? NoFields, 'body') : null;
  return (request) => {
    if (body) request.body ??= {};
    if (one.admits && !one.admits(request.actor, request.body)) return new SpineError('unauthorized');
    return (
      params?.(request.params) ?? nobodysName(request) ?? query(request.query) ?? body?.(request.body) ?? null
    );
  };
}

/** Nothing has a name with a NUL in it, and PostgreSQL would not even look for one. */
function nobodysName({ url, params }: FastifyRequest): SpineError | null {
  if (!url.includes('%00')) return null;
  // A path has nothing but texts.
  const names = Object.values(params as Readonly<Record<string, string>>);
  return names.some((name) => name.includes('\0')) ? new SpineError('not_found') : null;
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Set before any handler of a route that needs a token. */
    actor: Actor;
    /** SHA-256 of the body as it came in; empty unless the call carries an Idempotency-Key. */
    bodyHash: string;
  }
}
