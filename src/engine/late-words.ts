/** What a worker brings after its job was failed in its absence. */

import type { Actor } from '../domain/command.ts';
import { remark } from '../domain/remark.ts';
import { wasLostBy } from '../domain/lease.ts';
import { LIMITS } from '../domain/limits.ts';
import type { Core } from './core.ts';

/** Keeps it as a comment, so that nothing is lost. A worker that says the same again changes nothing. */
export function keepLate(core: Core, actor: Actor, id: string, brought: string): Promise<boolean> {
  return core.flusher.transact(actor, async (tx, changeSet) => {
    const [found] = await tx.jobs.lock([id]);
    if (found === undefined || !wasLostBy(found, actor)) return false;
    const text = `Came too late: ${brought}`.slice(0, LIMITS.commentChars);
    const { count, said } = await tx.comments.wordsOf(found.no, actor.name, text);
    if (count >= LIMITS.lateWords || said) return true;
    const next = { ...changeSet.load(found), updatedAt: changeSet.now };
    const { events, writes } = remark(next, actor.name, text);
    const answer = { ok: true, job: next } as const;
    changeSet.apply({ job: next, events, answer, ...(writes && { writes }) }, actor);
    return true;
  });
}
