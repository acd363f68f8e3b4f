/** Whether what callers add to a job's meta still fits: known of the locked row, before anything of their call is decided. */

import type { Command, Edit } from '../domain/command.ts';
import { type Refusal, refuse } from '../domain/error.ts';
import { LIMITS } from '../domain/limits.ts';
import { joinedMeta } from '../domain/meta.ts';
import type { Tx } from '../store/store.ts';
import type { ChangeSet } from './change-set.ts';

export interface MetadataRoom {
  /** Why this command is refused: the metadata of its call does not fit. */
  refusal(command: Command, jobs: Pick<ChangeSet, 'find'>): Promise<Refusal | null>;
  /** The edit was accepted: what comes later in the flush is measured with it. */
  took(edit: Edit, jobs: Pick<ChangeSet, 'find'>): void;
}

/** Null where no command of the flush adds anything. */
export function metadataRoom(tx: Tx, commands: readonly Command[]): MetadataRoom | null {
  const editOf = new Map<Command, Edit>();
  for (const command of commands) {
    if (command.kind !== 'edit' || command.metadata === null || command.refusedWith === undefined) continue;
    for (const each of [...command.refusedWith, command]) editOf.set(each, command);
  }
  if (editOf.size === 0) return null;
  const metas = new Map<number, string | null>();
  const judged = new Map<Edit, Refusal | null>();
  const judge = async ({ id, metadata }: Edit, jobs: Pick<ChangeSet, 'find'>): Promise<Refusal | null> => {
    const job = jobs.find(id);
    if (job === null || metadata === null) return null;
    const meta = metas.get(job.no) ?? (await tx.jobs.metaOf(job.no));
    metas.set(job.no, meta);
    return fits(meta, metadata) ? null : refuse('bad_request', tooMuchMetadata(LIMITS.metaBytes, 'in all'));
  };
  return {
    refusal: async (command, jobs) => {
      const edit = editOf.get(command);
      if (edit === undefined) return null;
      const known = judged.get(edit);
      if (known !== undefined) return known;
      const refusal = await judge(edit, jobs);
      judged.set(edit, refusal);
      return refusal;
    },
    took: ({ id, metadata }, jobs) => {
      const no = jobs.find(id)?.no;
      if (metadata !== null && no !== undefined && metas.has(no))
        metas.set(no, joinedMeta(metas.get(no) ?? null, metadata));
    },
  };
}

export function tooMuchMetadata(limit: number, when: string): { field: string; problem: string } {
  const problem = `metadata must take at most ${limit} bytes as JSON ${when}; use the job's log or an artifact.`;
  return { field: 'metadata', problem };
}

function fits(meta: string | null, metadata: string): boolean {
  // One that is too large already is not even read.
  if (meta !== null && meta.length > LIMITS.metaBytes) return false;
  return Buffer.byteLength(joinedMeta(meta, metadata)) <= LIMITS.metaBytes;
}
