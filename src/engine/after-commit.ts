/** What may be said of a call that failed: "nothing was changed" holds only until something was committed for it. */

import { AsyncLocalStorage } from 'node:async_hooks';
import type { Actor, Command } from '../domain/command.ts';
import { type ErrorCode, SpineError } from '../domain/error.ts';

/** Set by the first commit that changed something in the course of a call. */
interface Mark {
  committed: boolean;
}

const calls = new AsyncLocalStorage<Mark>();

/** Refusals by which a caller takes it that nothing was changed. */
const NOT_NOW: ReadonlySet<ErrorCode> = new Set([
  'store_unavailable',
  'overloaded',
  'shutting_down',
  'queue_full',
  'disk_full',
]);

const MESSAGE = 'This was saved, in whole or in part, but the answer to it could not be made.';

/** Does the work of one call. Where it fails after a commit, because something is away, its outcome is called unknown. */
export async function oneCall<T>(work: () => Promise<T>): Promise<T> {
  const mark: Mark = { committed: false };
  try {
    return await calls.run(mark, work);
  } catch (error) {
    if (!mark.committed || !(error instanceof SpineError) || !NOT_NOW.has(error.code)) throw error;
    throw new SpineError('outcome_unknown', {}, { cause: error, message: MESSAGE });
  }
}

/** The call that is under way here has changed something for good. The server's own work is no part of any call. */
export function noteCommit({ role }: Actor): void {
  const mark = calls.getStore();
  if (mark !== undefined && role !== 'system') mark.committed = true;
}

/** A claim that cannot be told of is given back. */
export function lasts({ kind }: Command): boolean {
  return kind !== 'claim' && kind !== 'claimNext';
}
