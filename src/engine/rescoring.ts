/** Gives waiting jobs the points that they have earned by waiting. */

import { loopActor } from '../domain/actor.ts';
import { rescored } from '../domain/scoring.ts';
import type { Core } from './core.ts';

const SCORER = loopActor('scorer');

/** Few at a time: while they are looked at no claim takes them. */
const BATCH = 200;

/** Answers how many it looked at, and whether there may be more. Two servers may try: the second finds them scored. */
export async function rescore(core: Core): Promise<{ readonly done: number; readonly more: boolean }> {
  const due = await core.store.read.jobs.toScore(core.now(), BATCH);
  if (due.length === 0) return { done: 0, more: false };
  const types = await core.typesByNo();
  await core.flusher.transact(SCORER, async (tx, changeSet) => {
    const jobs = await tx.jobs.lockByNo(due);
    const tags = await tx.details.tags(jobs.map(({ no }) => no));
    for (const job of jobs) {
      if (job.state !== 'queued' || job.scoreAt === null || job.scoreAt > changeSet.now) continue;
      const scoring = types.get(job.typeNo)?.scoring ?? null;
      changeSet.amend(rescored(changeSet.load(job), scoring, tags.get(job.no) ?? [], changeSet.now));
    }
  });
  return { done: due.length, more: due.length === BATCH };
}
