/** Whether a failed job is tried again, and what its retry is told. A model may be asked first. */

import { saidInOutcome, unsaidReason } from '../domain/chat-text.ts';
import { fingerprintOf } from '../domain/fingerprint.ts';
import { CONSULTING, type Job, type JobInput } from '../domain/job.ts';
import { type FailedTry, tellsRetries } from '../domain/retry-text.ts';
import { isPlainFailure } from '../domain/verdict.ts';
import type { Tx } from '../store/store.ts';
import type { Core } from './core.ts';

export interface Retry {
  readonly kind: 'retry';
  readonly input: JobInput;
  /** What the retry is told; null when it is told nothing. */
  readonly failedTry: FailedTry | null;
}
export interface Skip {
  readonly kind: 'skip';
  readonly input: JobInput;
  readonly words: string | null;
}
interface Wait {
  readonly kind: 'wait';
  readonly fingerprint: string;
  readonly reason: string;
}
export type Outlook = Retry | Skip | Wait | typeof NO_RETRY | typeof STAY;

export const NO_RETRY = { kind: 'none' } as const;
const STAY = { kind: 'stay' } as const;

/** Whoever asks may die, and another one asks once more: a job waits for that, too. */
export const SLACK_MS = 5_000;

/** Of one failure, so much is kept for whoever is asked about it. */
const REASON_CHARS = 4_000;

export async function outlookOf(core: Core, tx: Tx, job: Job, now: number): Promise<Outlook> {
  const input = await tx.jobs.inputOf(job.no);
  if (!tellsRetries(job, input.title)) return { kind: 'retry', input, failedTry: null };
  const reason = await reasonOf(tx, job);
  const plain: Retry = { kind: 'retry', input, failedTry: { reason, advice: null } };
  if (isPlainFailure(job.cause, reason)) return plain;
  const fingerprint = fingerprintOf(job.typeNo, reason);
  // Whoever has waited for it takes what has come, however short it is good for others.
  const verdict = await tx.verdicts.good(fingerprint, job.settled === CONSULTING ? 0 : now);
  if (verdict?.decision === 'skip') return { kind: 'skip', input, words: verdict.words };
  if (verdict?.decision === 'retry') return { ...plain, failedTry: { reason, advice: verdict.words } };
  // It was asked for anew since somebody looked: the answer is on its way.
  if (verdict === null && job.settled === CONSULTING && ((await tx.consultations.untilOf(job.no)) ?? 0) > now)
    return STAY;
  // Nobody could be asked lately, nobody is there to be asked, or the answer did not come in time.
  if (verdict !== null || core.advice === null || job.settled === CONSULTING) return plain;
  return { kind: 'wait', fingerprint, reason };
}

export async function consult(core: Core, tx: Tx, { no }: Job, { fingerprint, reason }: Wait, now: number) {
  await tx.verdicts.want(fingerprint, reason, now);
  await tx.consultations.begin(no, fingerprint, now + 2 * ((core.advice?.waitMs ?? 0) + SLACK_MS));
}

async function reasonOf(tx: Tx, job: Job): Promise<string> {
  return (await saidOf(tx, job)) ?? unsaidReason(job);
}

/** What its holder said of the failure, else the last thing that was said of the job; null when nothing was. */
export async function saidOf(tx: Tx, job: Job): Promise<string | null> {
  const outcome = (await tx.details.outcomes([job.no])).get(job.no) ?? { result: null, error: null };
  const isSilent = outcome.error === null && outcome.result === null && job.cause === null;
  const said = (isSilent ? await lastWord(tx.comments, job) : null) ?? saidInOutcome(outcome);
  return said === '' ? null : said.slice(0, REASON_CHARS).toWellFormed();
}

/** What was said last of this attempt, or while the job waited for it: what was said before was said of another one. */
export async function lastWord(
  { after }: Pick<Tx['comments'], 'after'>,
  { no, comments, startedAt, queuedAt }: Job,
): Promise<string | null> {
  const [last] = comments === 0 ? [] : await after(no, comments - 1, 1);
  return last !== undefined && last.at >= (startedAt ?? queuedAt ?? 0) ? last.text : null;
}
