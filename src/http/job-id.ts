/** The ids of jobs, the same at every door: whole, or the short number that people type. */

import type { Actor } from '../domain/command.ts';
import { SpineError } from '../domain/error.ts';
import type { Engine } from '../engine/engine.ts';
import { noteJob, type Noted } from './requests.ts';
import type { Call } from './routes.ts';

/** The job that the path names, by id or by its short number. What cannot be either never reaches the store. */
export function jobId({ engine, actor, params, request }: Call): Promise<string> {
  return fullId(engine, actor, params['id'] ?? '', request);
}

/** With `about`, that request is noted to be about this job. */
export async function fullId(engine: Engine, actor: Actor, id: string, about?: Noted): Promise<string> {
  if (!mayBeId(id)) throw new SpineError('not_found', { id });
  const full = isNumber(id) ? (await engine.jobs.get(actor, id)).id : id;
  if (about !== undefined) noteJob(about, full);
  return full;
}

/**
 * Many at once, each for itself: its whole id, or why it names no job. The short numbers among them are one look at the
 * store, in the caller's turn: looked up one by one, a thousand of them would stand before everybody else's reads.
 */
export async function fullIds(
  { engine, actor, parts }: Pick<Call, 'engine' | 'actor' | 'parts'>,
  ids: readonly string[],
): Promise<(string | SpineError)[]> {
  const numbers = [...new Set(ids.filter(isNumber))];
  const named =
    numbers.length === 0
      ? new Map<string, string | SpineError>()
      : await parts.longWork.run(actor, () => engine.jobs.idsOf(actor, numbers));
  return ids.map((id) => named.get(id) ?? (isFullId(id) ? id : new SpineError('not_found', { id })));
}

/** Written here, because a pattern inside a function is made anew by every call. */
const ID = /^[\w.:~-]{1,100}$/;
const NUMBER = /^\d{1,15}$/;

/** Whether a caller's word can be the name of a job, and is not its short number. */
export function isFullId(id: string): boolean {
  return mayBeId(id) && !isNumber(id);
}

function mayBeId(id: string): boolean {
  return ID.test(id);
}

function isNumber(id: string): boolean {
  return NUMBER.test(id);
}
