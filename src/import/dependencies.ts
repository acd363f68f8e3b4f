/** Brings back who waits for whom, from rows that may be older than each other. */

import type { DependencyOn } from '../domain/command.ts';
import { isFinal, type Job, SETTLED, UNSETTLED } from '../domain/job.ts';
import type { Tx } from '../store/store.ts';
import { count } from './counts.ts';

export interface Edge {
  readonly parentNo: number;
  readonly on: DependencyOn;
}

interface Parent extends Edge {
  /** The newest of its lineage, which says how the whole stands. */
  readonly last: Job;
}

/** Parents that have settled are done with. If that leaves nobody to wait for, the job's own move was lost: they settle again. */
export async function linkDependencies(tx: Tx, child: Job, edges: readonly Edge[]): Promise<void> {
  const parents: Parent[] = [];
  for (const edge of edges) {
    const last = await lastOf(tx, edge.parentNo);
    if (last !== null) parents.push({ ...edge, last });
  }
  const waits = child.state === 'blocked' && child.blockedOn === null && child.question === null;
  const open = parents.filter(({ last }) => !hasSettled(last));
  const unmet = new Set(!waits ? [] : open.length > 0 ? open : parents);
  await tx.dependencies.add(
    parents.map((parent) => ({
      jobNo: child.no,
      parentNo: parent.parentNo,
      on: parent.on,
      met: !unmet.has(parent),
    })),
  );
  for (const { last } of unmet) await watch(tx, last);
  if (waits) await waitFor(tx, child, unmet.size);
}

async function lastOf(tx: Tx, no: number): Promise<Job | null> {
  const [parent] = await tx.jobs.lockByNo([no]);
  return parent === undefined ? null : ((await tx.jobs.lastOfLineage(no)) ?? parent);
}

function hasSettled(last: Job): boolean {
  return isFinal(last.state) && last.settled === SETTLED && last.retryAt === null;
}

async function watch(tx: Tx, last: Job): Promise<void> {
  const settled = hasSettled(last) ? UNSETTLED : last.settled;
  await tx.jobs.update([{ before: last, after: { ...last, watched: true, settled }, kind: 'other' }]);
}

/** Without anybody to wait for it passes through its time, which the loop for due jobs looks at next. */
async function waitFor(tx: Tx, child: Job, waitingFor: number): Promise<void> {
  const state = waitingFor > 0 ? 'blocked' : 'scheduled';
  await tx.jobs.update([{ before: child, after: { ...child, waitingFor, state }, kind: 'other' }]);
  if (state !== child.state) {
    await count(tx, [
      { target: child.target, state: child.state, by: -1 },
      { target: child.target, state, by: 1 },
    ]);
  }
}
