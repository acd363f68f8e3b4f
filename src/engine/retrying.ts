/** The next member of a lineage, and what is said of it. */

import { loopActor } from '../domain/actor.ts';
import { admit } from '../domain/admit.ts';
import { retryText, skipText } from '../domain/chat-text.ts';
import type { EventDraft } from '../domain/event.ts';
import { type Job, type JobInput, SETTLED } from '../domain/job.ts';
import { nextOfLineage } from '../domain/new-job.ts';
import { remark } from '../domain/remark.ts';
import { baseTitle, retryInput } from '../domain/retry-text.ts';
import { RUN_ACTIVE, RUN_ENDED } from '../domain/run.ts';
import { askedPriority, scored } from '../domain/scoring.ts';
import type { Tx } from '../store/store.ts';
import type { Subscribers } from './announcing.ts';
import type { ChangeSet } from './change-set.ts';
import type { Retry, Skip } from './consulting.ts';
import type { Core } from './core.ts';

const RETRIER = loopActor('retry-creator');

/** Makes the retry. UNIQUE (retry_of) makes a second one impossible. */
export async function continueLineage(
  core: Core,
  tx: Tx,
  changeSet: ChangeSet,
  failed: Job,
  { input, failedTry }: Retry,
  to: Subscribers,
): Promise<void> {
  const isReplay = failed.cause === 'crashed';
  const made = await createRetry(core, tx, changeSet, failed, {
    input: failedTry === null ? input : retryInput(input, failed, failedTry),
    isReplay,
  });
  settled(changeSet, failed, failedTry === null ? null : `Retry #${made.retryCount} created`);
  if (failed.checkpointAt !== null) await tx.checkpoints.copy(failed.no, made.no);
  if (failed.scheduleId !== null) await handOnRun(tx, failed, made, isReplay ? 'replay' : 'retry');
  if (failedTry === null || !made.announce) return;
  const title = baseTitle(input.title ?? `#${made.no}`, failed.retryCount);
  await changeSet.announcer.chat(tx, made, retryText(title, made.retryCount, made.retryMax), to);
}

/** No retry follows, though one could: people are told why, and that they have to look at it. Answers the words. */
export function sayWhySkipped(changeSet: ChangeSet, job: Job, { input, words }: Skip): string {
  const why = words ?? 'a retry would fail, too';
  say(changeSet, changeSet.load(job), [], `No retry: ${why}`);
  return skipText(baseTitle(input.title ?? `#${job.no}`, job.retryCount), why);
}

function settled(changeSet: ChangeSet, job: Job, text: string | null): void {
  const retried = { kind: 'job.retried', by: 'settler', facts: { runAt: job.retryAt } } as const;
  say(changeSet, { ...job, settled: SETTLED }, [retried], text);
}

function say(changeSet: ChangeSet, job: Job, events: readonly EventDraft[], text: string | null): void {
  const next = { ...job };
  const told = text === null ? { events: [] } : remark(next, RETRIER.name, text);
  const answer = { ok: true, job: next } as const;
  changeSet.apply({ job: next, answer, ...told, events: [...events, ...told.events] }, RETRIER);
}

async function createRetry(
  core: Core,
  tx: Tx,
  changeSet: ChangeSet,
  failed: Job,
  { input, isReplay }: { readonly input: JobInput; readonly isReplay: boolean },
): Promise<Job> {
  const runAt = failed.retryAt ?? changeSet.now;
  const scoring = (await core.typesByNo()).get(failed.typeNo)?.scoring ?? null;
  const next = nextOfLineage(failed, {
    id: core.ids.jobId(changeSet.now),
    createdAt: changeSet.now,
    updatedAt: changeSet.now,
    uniqueKey: await keyOf(tx, failed),
    retryCount: failed.retryCount + (isReplay ? 0 : 1),
    state: admit({ waitingFor: 0, runAt, approval: failed.approval }, changeSet.now),
    runAt,
    ...scored(scoring, { priority: askedPriority(failed), tags: input.tags, readyAt: runAt }, changeSet.now),
  });
  const [made] = await changeSet.insert(tx, [{ job: next, input }], () => ({
    kind: 'job.created',
    by: 'settler',
    facts: {
      target: next.target,
      retryOf: failed.id,
      retryCount: next.retryCount,
      ...(isReplay && { replay: true }),
    },
  }));
  if (made === undefined) throw new Error('the store answered no number for a new row');
  return made;
}

/** While a retry is to come, the run still counts as under way for its schedule. */
async function handOnRun(tx: Tx, failed: Job, next: Job, kind: 'retry' | 'replay'): Promise<void> {
  const [run] = await tx.runs.byNo([failed.no]);
  if (run === undefined) return;
  await tx.runs.setActivity(failed.no, RUN_ENDED);
  const { scheduleId, dueAt, triggeredBy } = run;
  const fresh = {
    sessionKey: null,
    transport: null,
    dispatchedAt: null,
    lastHeartbeat: null,
    // A worker of the queue writes nothing down: what the run was made with is all there is to say.
    contextSummary: run.dispatchedAt === null ? run.contextSummary : null,
    promptHash: null,
  };
  await tx.runs.insert([
    { jobNo: next.no, scheduleId, kind, dueAt, triggeredBy, active: RUN_ACTIVE, ...fresh },
  ]);
}

/** The key goes on with the lineage, unless another job took it while nobody had it. */
async function keyOf(tx: Tx, { typeNo, uniqueKey }: Job): Promise<string | null> {
  return uniqueKey !== null && (await tx.jobs.findUnique(typeNo, uniqueKey)) === null ? uniqueKey : null;
}
