/** The HTTP server: one guard, one parser, and the doors. */

import { hash } from 'node:crypto';
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import type { BlobStore } from '../blobs/blobs.ts';
import type { ObjectStore } from '../objects/objects.ts';
import type { Actor } from '../domain/command.ts';
import { SpineError } from '../domain/error.ts';
import type { Engine } from '../engine/engine.ts';
import type { Clock } from '../domain/ports.ts';
import { AnswerRoom } from './answer-room.ts';
import { type Credential } from './auth.ts';
import { LARGE_BYTES, parseBody, parseLargeBody } from './body.ts';
import { type Admission, admitConnections, type ConnectionLimits, connectionOptions } from './connections.ts';
import { type Door, type DoorAt, doorFinder, errorAnswer } from './door.ts';
import { asSpineError } from './errors.ts';
import { EventStreams } from './events/streams.ts';
import { clientAddresses } from './client-address.ts';
import { CallLimits, type CallLimitSettings } from './call-limits.ts';
import { LongWork } from '../engine/long-work.ts';
import { LoopDelay } from './loop-delay.ts';
import type { Gauges, Parts, ShownSetting, Unready } from './parts.ts';
import { NO_ROUTE, type RequestLog, Requests } from './requests.ts';
import { isUnderWay, readPast } from './unread-body.ts';
import { isOpenTo, mount, type Refuse } from './mount.ts';
import { describeApi } from './openapi.ts';
import { allowOrigins } from './origins.ts';
import { guard, SECURITY_HEADERS } from './security.ts';
import { answerBrokenRequest, methodsOf } from './unrouted.ts';

export interface ServerOptions {
  readonly doors: readonly Door[];
  readonly engine: Engine;
  readonly clock: Clock;
  readonly credentials: readonly Credential[];
  /** Host names to answer to, besides the loopback ones and the address that was called. */
  readonly allowedHosts: readonly string[];
  /** Addresses and networks whose word on who calls is taken. */
  readonly trustedProxies: readonly string[];
  /** Whose pages may call, besides our own. */
  readonly allowedOrigins: readonly string[];
  readonly bodyLimitBytes: number;
  readonly blobLimitBytes: number;
  /** What large answers may take together while they are read and sent. */
  readonly answerRoomBytes: number;
  readonly blobStore: BlobStore;
  readonly objects: ObjectStore;
  /** What one principal may do and have open. */
  readonly callLimits: CallLimitSettings;
  /** How many reads are done at once: one, where the store is read by this very thread. */
  readonly readsAtOnce: number;
  readonly skillMdPath: string;
  readonly version: string;
  /** What GET /health/details shows beside the public facts. */
  readonly health: () => object | Promise<object>;
  /** Why this server cannot take work now; null when it can. */
  readonly unready: () => Unready | null;
  readonly unserved: (target: string) => string | null;
  readonly gauges: () => Gauges;
  /** Every setting in force, with secrets masked. */
  readonly settings: () => readonly ShownSetting[];
  readonly letsNeighboursIn: boolean;
  readonly connections: ConnectionLimits;
  readonly log: RequestLog;
  /** For lengths of time. */
  readonly monoMs: () => number;
  /** When this process began, in seconds since 1970. */
  readonly startedS: number;
  /** Calls that take longer are told to the log; 0 is none. */
  readonly slowMs: number;
  /** Whether anything is counted for /metrics. */
  readonly metrics: boolean;
}

const MAX_PARAM_CHARS = 500;

export function buildServer(options: ServerOptions): FastifyInstance {
  const { doors, engine, log } = options;
  const requestId = requestIds(engine.now());
  const parts = partsOf(options);
  const doorAt = doorFinder(doors);
  const refuse = refusing(doorAt, parts, log);
  const app = Fastify({
    logger: false,
    bodyLimit: options.bodyLimitBytes,
    requestTimeout: options.connections.requestTimeoutMs,
    keepAliveTimeout: options.connections.keepAliveMs,
    http: connectionOptions(options.connections),
    // A server that stops refuses work itself, in its own words.
    return503OnClosing: false,
    genReqId: requestId,
    routerOptions: { maxParamLength: MAX_PARAM_CHARS },
    frameworkErrors: refuse,
    clientErrorHandler: answerBrokenRequest(doorAt('/')),
    schemaController: { compilersFactory: { buildValidator: noCompiler, buildSerializer: noCompiler } },
  });
  // Fastify wants every property of a request to be there from the start, to keep its shape.
  app.decorateRequest('bodyHash', '');
  app.decorateRequest('arrivedMs', 0);
  app.decorateRequest('actor');
  app.decorateRequest('job', null);
  app.decorateRequest('jobs', null);
  app.decorateRequest('waited', false);
  addGuard(app, options, admitConnections(app.server, options.connections));
  addParser(app, options.clock);
  app.setErrorHandler(refuse);
  // Streams never end by themselves, and closing waits for every answer to end.
  app.addHook('preClose', async () => {
    parts.streams.close();
    parts.loopDelay.stop();
  });

  for (const door of doors)
    mount(
      app,
      door,
      parts,
      refusing(() => door, parts, log),
    );
  addNotFound(app, doors);
  return app;
}

/**
 * Requests are checked and answers written without Fastify's schemas; named here, its two compilers are not even loaded,
 * which would take 14 % more processor time at every start (630 and 720 ms, side by side on a shared 2-core machine).
 */
function noCompiler(): never {
  throw new Error('A route with a schema of Fastify needs one of its compilers.');
}

function partsOf(options: ServerOptions): Parts {
  const { doors, engine, clock, log, version } = options;
  const onError = (error: unknown): void => log.error('The events could not be read', { error });
  const descriptions = new Map<string | undefined, Buffer>();
  const described = (tag?: string): Buffer => {
    const bytes = descriptions.get(tag) ?? Buffer.from(JSON.stringify(describeApi(doors, version, tag)));
    descriptions.set(tag, bytes);
    return bytes;
  };
  return {
    ...options,
    addressOf: clientAddresses(options.trustedProxies),
    requests: new Requests({ ...options, counts: options.metrics }),
    room: new AnswerRoom(options.answerRoomBytes, clock),
    limits: new CallLimits(options.callLimits, clock),
    longWork: new LongWork(options.readsAtOnce, clock),
    streams: new EventStreams(engine, clock, onError),
    loopDelay: new LoopDelay(),
    description: described,
    callsOpenTo: (actor) => callsOpenTo(doors, actor),
  };
}

function callsOpenTo(doors: readonly Door[], actor: Actor): string[] {
  const routes = doors.filter(({ auth }) => auth.takesTokens).flatMap((door) => door.routes);
  const open = routes.filter((each) => each.who !== 'anyone' && !each.unlisted && isOpenTo(each, actor));
  return open.map(({ name }) => name);
}

/** Unique across restarts, so that an id in an old log is not found in a new one. */
function requestIds(startedAt: number): () => string {
  const prefix = startedAt.toString(36);
  let count = 0;
  return () => `${prefix}-${(++count).toString(36)}`;
}

function addGuard(
  app: FastifyInstance,
  {
    allowedHosts,
    allowedOrigins,
    doors,
    monoMs,
  }: Pick<ServerOptions, 'allowedHosts' | 'allowedOrigins' | 'doors' | 'monoMs'>,
  admitted: Admission,
): void {
  const origins = allowOrigins(allowedOrigins, doors);
  const problemWith = guard(allowedHosts, origins);
  app.addHook('onRequest', (request, reply, done) => {
    request.arrivedMs = monoMs();
    reply.headers(SECURITY_HEADERS);
    const { method, headers, socket } = request.raw;
    const tooMany = admitted(request);
    if (tooMany !== null) reply.header('connection', 'close');
    const arrival = { method: method ?? '', headers, localAddress: socket.localAddress };
    origins.permit(headers, reply.raw);
    const problem = tooMany ?? problemWith(arrival);
    if (problem === null && origins.isPreflight(arrival.method, headers, reply.raw)) {
      // A browser asks without the token, so nothing after this could answer.
      void reply.code(204).send();
      return;
    }
    done(problem ?? undefined);
  });
}

/** Whoever calls a path that does not exist. */
const NOBODY: Actor = { name: 'nobody', role: 'viewer', targets: [] };

function addParser(app: FastifyInstance, clock: Clock): void {
  const longWork = new LongWork(1, clock);
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, body, done): void => {
    try {
      // `parseAs: 'buffer'` gives a Buffer; the type allows for both.
      const bytes = body as Buffer;
      if (request.headers['idempotency-key'] !== undefined) request.bodyHash = bodyHash(request, bytes);
      if (bytes.length <= LARGE_BYTES) return done(null, parseBody(bytes));
      const read = longWork.run(request.actor ?? NOBODY, () => parseLargeBody(bytes));
      // oxlint-disable-next-line promise/no-callback-in-promise -- Fastify waits for either, and this spares most calls a promise
      read.then((value) => done(null, value), done);
    } catch (error) {
      done(error as Error);
    }
  });
}

/** The same body sent to another route is another request. */
function bodyHash(request: FastifyRequest, bytes: Buffer): string {
  const route = Buffer.from(`${request.method} ${request.routeOptions.url}\n`);
  return hash('sha256', Buffer.concat([route, bytes]), 'hex');
}

function refusing(doorAt: DoorAt, { requests, clock }: Parts, log: RequestLog): Refuse {
  return (error, request, reply) => {
    const refusal = asSpineError(error);
    const { status, headers, body } = errorAnswer(doorAt(request.url), refusal, request.id);
    const { url } = request.routeOptions;
    requests.of(url === undefined ? NO_ROUTE : request.method, url ?? NO_ROUTE)(
      request,
      status,
      refusal.code,
    );
    if (refusal.code === 'internal') logUnexpected(refusal, request, log);
    const send = (): void =>
      void reply
        .code(status)
        .headers(headers)
        .header('content-type', 'application/json; charset=utf-8')
        .send(JSON.stringify(body));
    sendBesideBody(request, reply, clock, send);
  };
}

/**
 * A refusal may come before all of the request. It is sent at once and the rest is read past, or the caller could find
 * the connection closed while it writes; where the connection ends with the answer, the rest comes first.
 */
function sendBesideBody(request: FastifyRequest, reply: FastifyReply, clock: Clock, send: () => void): void {
  const { raw } = request;
  if (!isUnderWay(raw)) return send();
  if (!reply.raw.shouldKeepAlive) return readPast(raw, clock, send);
  // The framework would end the connection after a body that is too long.
  reply.removeHeader('connection');
  send();
  readPast(raw, clock);
}

function logUnexpected(refusal: SpineError, request: FastifyRequest, log: RequestLog): void {
  log.error('A request failed unexpectedly', {
    requestId: request.id,
    method: request.method,
    // What stands in its places may be what a caller believed to be secret.
    path: request.routeOptions.url ?? null,
    error: refusal.cause ?? refusal,
  });
}

function addNotFound(app: FastifyInstance, doors: readonly Door[]): void {
  const methods = methodsOf(doors.flatMap(({ routes }) => routes));
  app.setNotFoundHandler((request, reply) => {
    const allowed = methods(request.url);
    if (allowed.length === 0) throw new SpineError('not_found', {}, { message: 'There is no such path.' });
    reply.header('allow', allowed.join(', '));
    throw new SpineError('method_not_allowed', { allowed });
  });
}
