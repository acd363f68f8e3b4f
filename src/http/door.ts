/** A door: one way in, with its own paths, words, credentials and errors. It holds no rule; it translates. */

import type { TSchema } from 'typebox';
import { ERRORS, type SpineError } from '../domain/error.ts';
import type { StatusOf } from '../domain/statuses.ts';
import type { Auth } from './auth.ts';
import { type ErrorShape, toldOf } from './errors.ts';
import type { Route } from './routes.ts';

export interface Door {
  readonly name: string;
  /** Its paths: all of its routes lie there, and what is refused there is refused in its shape. `/` is what is nobody else's. */
  readonly prefixes: readonly string[];
  readonly routes: readonly Route[];
  /** How it knows its callers. */
  readonly auth: Auth;
  /** The shape of its refusals. */
  readonly errors: ErrorShape;
  /** Its status for each state of a job. */
  readonly statusOf: StatusOf;
  /** The sections of the description that its calls stand in: the first that has the path; the last has all others. */
  readonly tags: readonly [...Tag[], Tag];
  /** Shapes that the description names once and refers to; no two doors may use one name. */
  readonly schemas: Readonly<Record<string, TSchema>>;
  /** What pages of other origins may read of its answers, beside what every door sends. */
  readonly answerHeaders?: readonly string[];
}

export interface Tag {
  readonly name: string;
  readonly about: string;
  /** What its paths begin with. */
  readonly starts?: readonly string[];
}

/** The section that a path of the door stands in. */
export function tagOf({ tags }: Door, path: string): string {
  const fits = (start: string): boolean => path === start || path.startsWith(`${start}/`);
  return (tags.find(({ starts }) => starts?.some(fits)) ?? tags[tags.length - 1] ?? tags[0]).name;
}

export interface ErrorAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Readonly<Record<string, unknown>>;
}

const RETRY_AFTER_S = 1;

/** A refusal as this door says it. */
export function errorAnswer(door: Door, error: SpineError, requestId: string): ErrorAnswer {
  const { status } = ERRORS[error.code];
  return {
    status,
    headers: headersFor(status, door.auth.challenge, error.details['retryAfterS']),
    body: door.errors.body(toldOf(error, requestId), door.statusOf),
  };
}

function headersFor(status: number, challenge: string, retryAfterS: unknown): Record<string, string> {
  if (status === 401) return { 'www-authenticate': challenge };
  if (status === 429 || status === 503 || status === 507) {
    return { 'retry-after': String(typeof retryAfterS === 'number' ? retryAfterS : RETRY_AFTER_S) };
  }
  return {};
}

export type DoorAt = (url: string) => Door;

/** Whose path it is: of all prefixes that fit, the longest says so. */
export function doorFinder(doors: readonly Door[]): DoorAt {
  const known = doors
    .flatMap((door) => door.prefixes.map((prefix) => ({ door, start: `${prefix}/`.replace('//', '/') })))
    .toSorted((one, other) => other.start.length - one.start.length);
  const last = known.at(-1);
  if (last?.start !== '/') throw new Error('No door has the prefix /, where every other path belongs.');
  const doorAt: DoorAt = (url) => {
    const path = `${url.split('?')[0]}/`;
    return (known.find(({ start }) => path.startsWith(start)) ?? last).door;
  };
  for (const door of doors) {
    const foreign = door.routes.find(({ path }) => doorAt(path) !== door);
    if (foreign) throw new Error(`${foreign.path} lies under no prefix of its door, ${door.name}.`);
  }
  return doorAt;
}
