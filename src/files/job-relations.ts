/** What jobs have beside their rows, by the public ids of those they name. */

import type { DependencyOn } from '../domain/command.ts';
import type { Job } from '../domain/job.ts';
import type { Reads } from '../store/store.ts';
import type { ApprovalRow, Run } from '../store/types/scheduling.ts';

export interface Relations {
  /** The jobs that it waits or waited for. */
  readonly after: readonly { readonly id: string; readonly on: DependencyOn }[];
  /** How a schedule came to make it. */
  readonly run: { readonly of: Run; readonly triggeredBy: string | null } | null;
  readonly approval: ApprovalRow | null;
}

type RelationReads = Pick<Reads, 'dependenciesOf' | 'runsByNo' | 'approvalsByNo' | 'jobsByNo'>;

export async function relationsOf(
  read: RelationReads,
  jobs: readonly Job[],
): Promise<(jobNo: number) => Relations> {
  const nosOf = (some: readonly Job[]): number[] => some.map(({ no }) => no);
  const after = Map.groupBy(await read.dependenciesOf(nosOf(jobs)), ({ jobNo }) => jobNo);
  const runs = await read.runsByNo(nosOf(jobs.filter(({ scheduleId }) => scheduleId !== null)));
  const runByNo = new Map(runs.map((run) => [run.jobNo, run]));
  const causes = await read.jobsByNo(runs.flatMap(({ triggeredBy }) => triggeredBy ?? []));
  const idByNo = new Map(causes.map(({ no, id }) => [no, id]));
  const gates = await read.approvalsByNo(nosOf(jobs.filter(({ approval }) => approval !== 'none')));
  const gateByNo = new Map(gates.map((gate) => [gate.jobNo, gate]));
  return (no) => {
    const run = runByNo.get(no);
    return {
      after: (after.get(no) ?? []).map(({ parentId, on }) => ({ id: parentId, on })),
      run: run === undefined ? null : { of: run, triggeredBy: idByNo.get(run.triggeredBy ?? 0) ?? null },
      approval: gateByNo.get(no) ?? null,
    };
  };
}
