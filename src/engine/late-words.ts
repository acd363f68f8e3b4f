/** What a worker brings after its job was failed in its absence. */

import type { Actor } from '../domain/command.ts';
import type { Job } from '../domain/job.ts';
import { wasLostBy } from '../domain/lease.ts';
import { LIMITS } from '../domain/limits.ts';
import { remark, roomForComments } from '../domain/remark.ts';
import type { Tx } from '../store/store.ts';
import type { Core } from './core.ts';
import type { LateFate } from './engine.ts';

const LATE = 'Came too late';
/** What stands before each part of something long. */
const HEADING_CHARS = 40;

/** Keeps it as comments, all of it or nothing. A worker that says the same again changes nothing. */
export function keepLate(core: Core, actor: Actor, id: string, brought: string): Promise<LateFate> {
  return core.flusher.transact(actor, async (tx, changeSet) => {
    const [found] = await tx.jobs.lock([id]);
    if (found === undefined || !wasLostBy(found, actor)) return 'not late';
    const parts = partsOf(brought);
    if (await wasSaid(tx, found, actor, parts)) return 'kept';
    const said = await tx.comments.countOf(found.no, actor.name, LATE);
    if (said + parts.length > LIMITS.lateWords) return 'no room';
    if (found.comments + parts.length > roomForComments(actor)) return 'no room';
    for (const text of parts) {
      const next = { ...changeSet.load(found), updatedAt: changeSet.now };
      const told = remark(next, actor.name, text);
      changeSet.apply({ job: next, answer: { ok: true, job: next }, ...told }, actor);
    }
    return 'kept';
  });
}

/** As many comments as it takes; no character stands half in one and half in the next. */
function partsOf(brought: string): string[] {
  const parts: string[] = [];
  for (let at = 0; at < brought.length; at += parts.at(-1)?.length ?? 0) {
    const part = brought.slice(at, at + LIMITS.commentChars - HEADING_CHARS);
    parts.push(part.isWellFormed() ? part : part.slice(0, -1));
  }
  if (parts.length === 1) return [`${LATE}: ${brought}`];
  return parts.map((part, i) => `${LATE} (${i + 1} of ${parts.length}): ${part}`);
}

async function wasSaid(tx: Tx, { no }: Job, { name }: Actor, parts: readonly string[]): Promise<boolean> {
  for (const part of parts) if (!(await tx.comments.isSaid(no, name, part))) return false;
  return true;
}
