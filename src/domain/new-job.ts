/** The one maker of job rows: whoever makes a job says what is its own, the table says the rest. */

import {
  type HandedOnName,
  JOB_FIELDS,
  type JobRowDraft,
  type RequiredName,
  DRAFT_FIELDS,
  type DraftedRow,
} from './job-fields.ts';
import { type Job, rootOf } from './job.ts';
import type { Scored } from './scoring.ts';
import { generatedFunction } from './generated-function.ts';

export type NewJobRow = Omit<Job, 'no'>;
export type OwnValues = Pick<NewJobRow, RequiredName> & Partial<NewJobRow>;

const made = JOB_FIELDS.filter(({ group }) => group !== 'key').map(({ name, default: value }) =>
  value === undefined
    ? `${name}: own.${name}`
    : `${name}: own.${name} === undefined ? ${JSON.stringify(value)} : own.${name}`,
);

export const newJob = generatedFunction(['own'], `({ ${made.join(', ')} })`) as (own: OwnValues) => NewJobRow;

const handedOn = generatedFunction(
  ['from'],
  `({ ${JOB_FIELDS.filter(({ group, handedOn }) => group === 'fixed' || handedOn)
    .map(({ name }) => `${name}: from.${name}`)
    .join(', ')} })`,
) as (from: Job) => Pick<Job, HandedOnName>;

/** The next job of a lineage: it has what the failed one was made with, and nothing that came of it. */
export function nextOfLineage(
  failed: Job,
  own: Pick<
    NewJobRow,
    'id' | 'createdAt' | 'updatedAt' | 'uniqueKey' | 'retryCount' | 'state' | 'runAt' | keyof Scored
  >,
): NewJobRow {
  const from = { ...handedOn(failed), ...(failed.leasePolicy === 'presence' && asRetry(failed)) };
  return newJob({ ...from, retryOf: failed.no, rootNo: rootOf(failed), ...own });
}

/**
 * After a failure under `presence` the job goes on as a lineage, even if it was not made as one. What was addressed to the
 * very worker that failed is anybody's now.
 */
function asRetry({ target, claimedBy, ...failed }: Job): Pick<Job, 'retryMode' | 'maxAttempts' | 'target'> {
  const maxAttempts = failed.retryMode === 'lineage' ? failed.maxAttempts : 1;
  return { retryMode: 'lineage', maxAttempts, target: target === claimedBy ? 'any' : target };
}

/** What a caller said, as the row has it. What depends on more than the caller's word has no default here. */
export const draftedRow = generatedFunction(
  ['draft'],
  `({ ${DRAFT_FIELDS.flatMap(({ name, is, default: value }) => {
    if (value === undefined) return [];
    const usual = JSON.stringify(value);
    // In order and each once, so that those who say the same have the same.
    const texts = `JSON.stringify([...new Set(draft.${name})].sort())`;
    if (is === 'texts') return [`${name}: draft.${name}?.length ? ${texts} : ${usual}`];
    return [`${name}: draft.${name} === undefined ? ${usual} : draft.${name}`];
  }).join(', ')} })`,
) as (draft: JobRowDraft) => DraftedRow;
