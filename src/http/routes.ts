/** A route as a value: who may call, what it takes and answers, one engine call, one mapper. */

import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Static, TObject, TSchema } from 'typebox';
import type { Actor } from '../domain/command.ts';
import type { ErrorCode } from '../domain/error.ts';
import type { Engine } from '../engine/engine.ts';
import type { Callers } from './auth.ts';
import type { Load } from './call-limits.ts';
import type { Parts } from './parts.ts';
import type { Noted } from './requests.ts';
import type { NoFields } from './fields.ts';

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
  /** Those of the door that was called. */
  readonly callers: Callers;
  /** Aborts when the caller wants no answer any more, though its connection may last; only where that can be said. */
  readonly gone?: AbortSignal;
  /** How much the caller can read; only where that is less than any answer may hold. */
  readonly answerBytes?: number;
}

/** JSON that is already text, or the bytes of it, a value to be printed, or the reply itself when the handler has seen to it. */
export type Answer = string | Buffer | object;

/** The text that is answered. */
export function textOf(answer: Answer): string {
  if (Buffer.isBuffer(answer)) return answer.toString();
  return typeof answer === 'string' ? answer : JSON.stringify(answer);
}

/** What can be said about a route without running it. */
export interface Described {
  readonly method: Method;
  readonly path: string;
  /** Unique among all routes; programs that are made from the description call it so. */
  readonly name: string;
  readonly about: string;
  readonly who: readonly Role[] | 'anyone';
  /** v0 had it: whoever has the wrong role is answered as v0 did, with 401. */
  readonly v0?: true;
  /** Another path of a route that is described: nothing is said of it. */
  readonly unlisted?: true;
  /** How a call counts against what its caller may do; unless said, a GET is a `read` and everything else a `write`. */
  readonly load?: Load;
  readonly status?: number;
  readonly body?: TSchema;
  /** What the description says of the body, where the domain reads it field by field. */
  readonly bodyShown?: TSchema;
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
  /** There may be nothing to say: this status, without a body. */
  readonly silent?: 202 | 204;
  /** Refusals of its own, beside those that every route may give. */
  readonly errors?: readonly ErrorCode[];
}

export interface Route<B extends TSchema = TSchema, Q extends TSchema = TSchema> extends Described {
  readonly body?: B;
  readonly query?: Q;
  /** A further condition on who may call, for routes where that depends on the body. */
  readonly admits?: (actor: Actor, body: unknown) => boolean;
  /** That condition in words, for whoever does not meet it. */
  readonly condition?: string;
  /** Open to tokens that stand in prompts, too. */
  readonly forShownTokens?: true;
  readonly handle: (call: Call<Static<B>, Static<Q>>) => Promise<Answer>;
}

/** Ties a route's handler to its schemas, which are checked before it runs; then forgets them, so that routes fit in one list. */
export function route<B extends TSchema = typeof NoFields, Q extends TSchema = typeof NoFields>(
  described: Route<B, Q>,
): Route {
  return described;
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Set before any handler of a route that needs a token. */
    actor: Actor;
    /** SHA-256 of the body as it came in; empty unless the call carries an Idempotency-Key. */
    bodyHash: string;
    /** When its head was read, by the clock for lengths. */
    arrivedMs: number;
    /** The job that it is about, once a handler has said so. */
    job: Noted['job'];
    /** Further ones that it has made, taken or ended. */
    jobs: Noted['jobs'];
    /** It has waited for something, as it was asked to. */
    waited: Noted['waited'];
  }
}
