/** Jobs that a draft names by the short numbers that people say and type, as they do in paths. */

import type { Actor } from '../domain/command.ts';
import { SpineError } from '../domain/error.ts';
import { LIMITS } from '../domain/limits.ts';
import type { Core } from './core.ts';
import type { JobDraft } from './engine.ts';

const NUMBER = /^\d{1,15}$/;

/** All numbers of a call are one look. One that is no job's stays as it is, and is refused like an id that is none. */
export async function withWholeIds(
  core: Core,
  actor: Actor,
  drafts: readonly JobDraft[],
): Promise<readonly JobDraft[]> {
  const numbers = numbersIn(drafts);
  if (numbers.size === 0) return drafts;
  if (numbers.size > LIMITS.jobsByNumber)
    throw new SpineError('bad_request', {
      problem: `one call names at most ${LIMITS.jobsByNumber} jobs by their numbers; send fewer, or their ids`,
    });
  const named = await core.longWork.run(actor, () => core.store.read.jobs.named([...numbers].map(Number)));
  const ids = new Map(named.map(({ no, id }) => [no, id]));
  const whole = (name: string): string => (NUMBER.test(name) ? (ids.get(Number(name)) ?? name) : name);
  return drafts.map(({ parentId, after, ...rest }) => ({
    ...rest,
    ...(parentId !== undefined && { parentId: whole(parentId) }),
    ...(after !== undefined && { after: after.map((one) => ({ ...one, job: whole(one.job) })) }),
  }));
}

function numbersIn(drafts: readonly JobDraft[]): Set<string> {
  const numbers = new Set<string>();
  for (const { parentId, after = [] } of drafts) {
    if (parentId !== undefined && NUMBER.test(parentId)) numbers.add(parentId);
    for (const { job } of after) if (NUMBER.test(job)) numbers.add(job);
  }
  return numbers;
}
