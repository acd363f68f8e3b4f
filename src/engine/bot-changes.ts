/** What admins do to a job beside its way: they say anew what is asked for, or remove it. */

import type { Actor, Rewording } from '../domain/command.ts';
import { SpineError } from '../domain/error.ts';
import { isFinal, type Job, rootOf } from '../domain/job.ts';
import { lineageRetries } from '../domain/job-type.ts';
import { finish } from '../domain/retry.ts';
import { Meter } from '../domain/schema/check.ts';
import type { Core } from './core.ts';
import type { BotRewording } from './engine.ts';
import { JobDrafts } from './job-drafts.ts';
import { removeNamed } from './removal.ts';

/** Params must fit the type, whichever of the two is new. */
export async function rewordingOf(
  core: Core,
  actor: Actor,
  job: Job,
  { type, params, title, description, target, priority }: BotRewording,
): Promise<Rewording> {
  const types = await core.types();
  const typeNo = type === undefined ? undefined : types.get(type)?.no;
  const wanted = (await core.typesByNo()).get(typeNo ?? job.typeNo);
  if ((typeNo !== undefined || params !== undefined) && wanted !== undefined) {
    const before = params === undefined ? (await core.store.read.jobs.inputOf(job.no)).params : null;
    const value: unknown = params ?? JSON.parse(before ?? '{}');
    await new JobDrafts(core).checkParams(actor, wanted, value, 'params', new Meter());
  }
  return {
    ...(title !== undefined && { title }),
    ...(description !== undefined && { description }),
    ...(params !== undefined && { params: JSON.stringify(params) }),
    ...(target !== undefined && target !== job.target && { target }),
    ...(typeNo !== undefined && { typeNo }),
    // As often as its type says, as if it had been made with it.
    ...(typeNo !== undefined &&
      job.retryMode === 'lineage' &&
      wanted && { retryMax: lineageRetries(wanted) }),
    ...(priority !== undefined && { priority }),
  };
}

/** It ends first, so that whoever holds it hears of that, and what it held is free; then its rows go. */
export async function removeJob(core: Core, actor: Actor, id: string): Promise<void> {
  await core.flusher.transact(actor, async (tx, changeSet) => {
    const [found] = await tx.jobs.lock([id]);
    if (found === undefined) throw new SpineError('not_found', { id });
    if (found.scheduleId !== null)
      throw new SpineError('conflict', { problem: 'This is a run of a schedule; cancel it instead.' });
    if ((await tx.dependencies.waiting(rootOf(found))).length > 0)
      throw new SpineError('conflict', {
        problem: 'Other jobs wait for the end of this one; cancel it instead.',
      });
    if (isFinal(found.state)) return;
    const next = { ...changeSet.load(found), reason: 'deleted' };
    finish(next, 'cancelled', changeSet.now);
    changeSet.amend(next, [{ kind: 'job.cancelled', by: actor.name, facts: { reason: 'deleted' } }]);
  });
  // Before and after: a file may be written in between, and without the rows nobody would look for it any more.
  await core.forgetFiles([id]);
  await core.flusher.transact(actor, async (tx, changeSet) => {
    const [found] = await tx.jobs.lock([id]);
    if (found === undefined) return;
    if (!isFinal(found.state)) throw new SpineError('conflict', { id });
    await removeNamed(tx, changeSet, actor, found);
  });
  await core.forgetFiles([id]);
}
