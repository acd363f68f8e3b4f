/** What people do to a job beside its way: they say anew what is asked for while nobody holds it, or remove it once it has ended. */

import type { Accepted, Actor, Reword } from '../domain/command.ts';
import { SpineError } from '../domain/error.ts';
import { CHANGE_FIELDS } from '../domain/job-fields.ts';
import { isFinal, type Job, rootOf, SETTLED } from '../domain/job.ts';
import { Meter } from '../domain/schema/check.ts';
import type { Tx } from '../store/store.ts';
import type { Core } from './core.ts';
import type { JobChange } from './engine.ts';
import { JobDrafts } from './job-drafts.ts';
import { removeNamed } from './removal.ts';

/** Params must fit the type, as they had to at the beginning. */
export async function changeJob(core: Core, actor: Actor, job: Job, change: JobChange): Promise<Accepted> {
  const { params, tags, ...row } = change;
  if (Object.keys(change).length === 0) {
    const message = `Send at least one of ${CHANGE_FIELDS.map(({ name }) => name).join(', ')}, params and tags.`;
    throw new SpineError('bad_request', {}, { message });
  }
  const type = (await core.typesByNo()).get(job.typeNo);
  if (params !== undefined && type !== undefined)
    await new JobDrafts(core).checkParams(actor, type, params, 'params', new Meter());
  const command: Reword = {
    kind: 'reword',
    id: job.id,
    actor,
    waiting: true,
    asked: {
      ...row,
      ...(params !== undefined && { params: JSON.stringify(params) }),
      ...(tags !== undefined && { tags: [...new Set(tags)] }),
    },
  };
  return core.perform(command);
}

/** Its files go first and once more: one may be written in between, and without the rows nobody would look for it. */
export async function removeEnded(core: Core, actor: Actor, job: Job): Promise<void> {
  const remove = async (really: boolean): Promise<void> => {
    await core.flusher.transact(actor, async (tx, changeSet) => {
      const [found] = await tx.jobs.lockByNo([job.no]);
      if (found === undefined) throw new SpineError('not_found', { id: job.id });
      const problem = await whyKept(tx, found);
      if (problem !== null) throw new SpineError('conflict', { state: found.state, problem });
      if (really) await removeNamed(tx, changeSet, actor, found);
    });
  };
  await remove(false);
  await core.forgetFiles([job.id]);
  await remove(true);
  await core.forgetFiles([job.id]);
}

/** Why it cannot be removed now; null when it can. */
export async function whyKept(tx: Tx, job: Job): Promise<string | null> {
  if (!isFinal(job.state)) return 'The job has not ended: cancel it first.';
  if (job.scheduleId !== null)
    return 'This is a run of a schedule, and its history: it goes in time, or with the schedule.';
  if (job.settled !== SETTLED || job.retryAt !== null)
    return 'The job has ended, and what follows from its end has not happened yet: try again in a moment.';
  if ((await tx.dependencies.waiting(rootOf(job))).length > 0)
    return 'Other jobs wait for the end of this one: cancel them first.';
  return null;
}
