/** Why a backup or a restore was not made, in one line that says what to do. */

import { DataDirError } from '../store/datadir-files.ts';

export type ProblemKind =
  /** The command line names something that cannot be. */
  | 'usage'
  /** The settings do. */
  | 'settings'
  /** The storage does not accept the keys, or does not allow it. */
  | 'refused'
  | 'not_found'
  /** Something is in the way. */
  | 'conflict'
  /** Another process backs this data dir up. */
  | 'busy'
  | 'unavailable'
  | 'timeout'
  | 'failure';

export class BackupProblem extends Error {
  override readonly name = 'BackupProblem';
  readonly kind: ProblemKind;

  /** At least one place has got its backup all the same. */
  readonly partly: boolean;

  constructor(kind: ProblemKind, message: string, cause?: unknown, partly = false) {
    super(message, { cause });
    this.kind = kind;
    this.partly = partly;
  }
}

const FULL = ['ENOSPC', 'EDQUOT', 'EFBIG'];
/** SQLite's own number for a full disk. */
const SQLITE_FULL = 13;

/** Known mishaps of the disk get words; everything else keeps its own. */
export function problemOf(error: unknown): BackupProblem {
  if (error instanceof BackupProblem) return error;
  if (error instanceof DataDirError) return new BackupProblem('settings', error.message, error);
  const { code, errcode, message } = error as NodeJS.ErrnoException & { errcode?: number };
  if (FULL.includes(code ?? '') || ((errcode ?? 0) & 0xff) === SQLITE_FULL)
    return new BackupProblem('failure', `The disk is full (${message}). Free some space.`, error);
  return new BackupProblem('failure', error instanceof Error ? message : String(error), error);
}
