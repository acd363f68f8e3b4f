/** What jobs have beside their rows, by the public ids of those they name. */

import type { Approval } from '../domain/approval.ts';
import type { DependencyOn } from '../domain/command.ts';
import type { Job } from '../domain/job.ts';
import { LIMITS } from '../domain/limits.ts';
import type { Question } from '../domain/question.ts';
import type { Run } from '../domain/run.ts';
import type { Reads } from '../store/store.ts';

export interface Relations {
  /** The jobs that it waits or waited for. */
  readonly after: readonly { readonly id: string; readonly on: DependencyOn }[];
  /** How a schedule came to make it. */
  readonly run: { readonly of: Run; readonly triggeredBy: string | null } | null;
  readonly approval: Approval | null;
  /** The newest of them, oldest first. */
  readonly questions: readonly Question[];
  /** As JSON. */
  readonly checkpoint: string | null;
}

type RelationReads = Pick<
  Reads,
  'dependencies' | 'runs' | 'approvals' | 'jobs' | 'questions' | 'checkpoints'
>;

export async function relationsOf(
  read: RelationReads,
  jobs: readonly Job[],
): Promise<(jobNo: number) => Relations> {
  const nosOf = (some: readonly Job[]): number[] => some.map(({ no }) => no);
  const after = Map.groupBy(await read.dependencies.of(nosOf(jobs)), ({ jobNo }) => jobNo);
  const runs = await read.runs.byNo(nosOf(jobs.filter(({ scheduleId }) => scheduleId !== null)));
  const runByNo = new Map(runs.map((run) => [run.jobNo, run]));
  const causes = await read.jobs.byNo(runs.flatMap(({ triggeredBy }) => triggeredBy ?? []));
  const idByNo = new Map(causes.map(({ no, id }) => [no, id]));
  const approvals = await read.approvals.byNo(nosOf(jobs.filter(({ approval }) => approval !== 'none')));
  const approvalByNo = new Map(approvals.map((approval) => [approval.jobNo, approval]));
  const questions = new Map<number, readonly Question[]>();
  for (const { no } of jobs.filter((job) => job.questions > 0))
    questions.set(no, await newestQuestions(read, no));
  const left = nosOf(jobs.filter(({ checkpointAt }) => checkpointAt !== null));
  const checkpoints = left.length === 0 ? null : await read.checkpoints.byNo(left);
  return (no) => {
    const run = runByNo.get(no);
    return {
      after: (after.get(no) ?? []).map(({ parentId, on }) => ({ id: parentId, on })),
      run: run === undefined ? null : { of: run, triggeredBy: idByNo.get(run.triggeredBy ?? 0) ?? null },
      approval: approvalByNo.get(no) ?? null,
      questions: questions.get(no) ?? [],
      checkpoint: checkpoints?.get(no) ?? null,
    };
  };
}

async function newestQuestions(read: RelationReads, jobNo: number): Promise<readonly Question[]> {
  const limit = LIMITS.answersShown;
  return (await read.questions.list({ jobNo, limit, targets: null, reader: '' })).toReversed();
}
