/** Puts the routes of a door into the server: who calls, whether the request fits, and how the answer is sent. */

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Actor } from '../domain/command.ts';
import { SpineError } from '../domain/error.ts';
import { oneCall } from '../engine/after-commit.ts';
import type { Callers } from './auth.ts';
import type { CallLimits, Load } from './call-limits.ts';
import type { Door } from './door.ts';
import { NoFields } from './fields.ts';
import type { Parts } from './parts.ts';
import { type Answer, type Call, type Route, textOf } from './routes.ts';
import { endWhenStill } from './stuck-reader.ts';
import { takingFiles } from './uploads.ts';
import { checker } from './validation.ts';

/** Shorter texts are sent as they are: bytes are memory outside the heap, to be asked for and given back. */
const LONG_CHARS = 16_384;

const JSON_TYPE = 'application/json; charset=utf-8';

export type Refuse = (error: unknown, request: FastifyRequest, reply: FastifyReply) => void;

/** What the routes of a door have beside what all doors share. */
interface Opened {
  readonly callers: Callers;
  readonly refuse: Refuse;
  readonly parts: Parts;
}

export function mount(app: FastifyInstance, door: Door, parts: Parts, refuse: Refuse): void {
  const opened = { callers: door.auth.open(parts), refuse, parts };
  const uploads = door.routes.filter(({ upload }) => upload === true);
  for (const one of door.routes) if (one.upload !== true) mountRoute(app, one, opened);
  if (uploads.length === 0) return;
  app.register(
    takingFiles(parts.blobLimitBytes, (scope) => {
      for (const one of uploads) mountRoute(scope, one, opened);
    }),
  );
}

function mountRoute(app: FastifyInstance, one: Route, { callers, refuse, parts }: Opened): void {
  const { engine, requests, limits } = parts;
  const check = checkRequest(one, callers);
  const answered = requests.of(one.method, one.path, one.load === 'stream');
  const type = one.media ?? JSON_TYPE;
  const status = one.status ?? 200;
  app.route({
    method: one.method,
    url: one.path,
    errorHandler: refuse,
    ...(one.who !== 'anyone' && {
      onRequest: admit(one, callers, one.upload ? () => 0 : bodyBytes, limits),
    }),
    handler: async (request, reply) => {
      const problem = check(request);
      if (problem) throw problem;
      const { actor, params, query, body } = request as FastifyRequest & { params: Record<string, string> };
      const call = { engine, actor, params, query, body, request, reply, parts, callers };
      const answer = await handled(one, call);
      if (answer === reply) {
        answered(request, reply.raw.headersSent ? reply.raw.statusCode : reply.statusCode);
        return reply;
      }
      answered(request, status);
      reply.code(status).header('content-type', type);
      const sent = sendable(answer);
      if (sent.length >= LONG_CHARS) endWhenStill(reply.raw, parts.clock);
      return sent;
    },
  });
}

/** What only looks is spared what calls that may change something cost. */
export function handled(one: Route, call: Call): Promise<Answer> {
  return one.method === 'GET' ? one.handle(call) : oneCall(() => one.handle(call));
}

/** How a call of this route counts. */
export function loadOf({ load, method }: Route): Load {
  return load ?? (method === 'GET' ? 'read' : 'write');
}

/** Whether the route is for callers of this role, and for their kind of token. */
export function isOpenTo({ who, forShownTokens }: Route, actor: Actor): boolean {
  if (who === 'anyone') return true;
  const roles: readonly Actor['role'][] = who;
  return roles.includes(actor.role) && (!actor.shown || forShownTokens === true);
}

/** A text is put behind its headers in one more text, which for a long one is a copy; bytes are sent from where they lie. */
function sendable(answer: Answer): string | Buffer {
  if (Buffer.isBuffer(answer)) return answer;
  const text = textOf(answer);
  return text.length < LONG_CHARS ? text : Buffer.from(text);
}

/** Calls `done` when it is done at once, or answers a promise: most callers are spared the round that a promise costs. */
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

function admit(
  one: Route,
  callers: Callers,
  bytesOf: (request: FastifyRequest) => number,
  limits: CallLimits,
): Hook {
  const load = loadOf(one);
  const enter = (
    request: FastifyRequest,
    reply: FastifyReply,
    actor: Actor | null,
  ): SpineError | undefined => {
    if (actor === null || !isOpenTo(one, actor)) return callers.refusal(request.raw, actor, one);
    request.actor = actor;
    const leave = limits.enter(actor, load, bytesOf(request));
    if (leave instanceof SpineError) return leave;
    if (leave !== null) reply.raw.on('close', leave);
    return undefined;
  };
  const lookUp = async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    const problem = enter(request, reply, await callers.lookUp(request.raw));
    if (problem) throw problem;
  };
  return (request, reply, done) => {
    const known = callers.known(request.raw);
    return known === null ? lookUp(request, reply) : done(enter(request, reply, known));
  };
}

/** What of a request is held against its route. */
export type Asked = Pick<FastifyRequest, 'actor' | 'params' | 'query' | 'body' | 'url' | 'raw'>;

export function checkRequest(one: Route, callers: Callers): (request: Asked) => SpineError | null {
  const params = one.params ? checker(one.params, 'params') : null;
  const query = checker(one.query ?? NoFields, 'querystring');
  const takesBody = one.method !== 'GET' && one.method !== 'DELETE' && !one.upload;
  const body = takesBody ? checker(one.body ?? NoFields, 'body') : null;
  return (request) => {
    if (body) request.body ??= {};
    if (one.admits && !one.admits(request.actor, request.body))
      return callers.refusal(request.raw, request.actor, one);
    return (
      params?.(request.params) ??
      nobodysName(request) ??
      query(request.query) ??
      unaskable(request) ??
      body?.(request.body) ??
      null
    );
  };
}

/** Nothing has a name with a NUL in it, and PostgreSQL would not even look for one. */
function nobodysName({ url, params }: Asked): SpineError | null {
  if (!url.includes('%00')) return null;
  // A path has nothing but texts.
  const names = Object.values(params as Readonly<Record<string, string>>);
  return names.some((name) => name.includes('\0')) ? new SpineError('not_found') : null;
}

/** Nothing that is kept holds a NUL, and PostgreSQL would fail over the question. */
function unaskable({ url, query }: Asked): SpineError | null {
  if (!url.includes('%00')) return null;
  const asked = Object.entries(query as Readonly<Record<string, unknown>>);
  const [field] = asked.find(([, value]) => String(value).includes('\0')) ?? [];
  if (field === undefined) return null;
  return new SpineError('bad_request', { field }, { message: `${field} must not hold a NUL character.` });
}
