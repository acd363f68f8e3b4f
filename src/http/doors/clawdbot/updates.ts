/** What is said about a task, in the order in which it was said. */

import type { Job } from '../../../domain/job.ts';
import { LIMITS } from '../../../domain/limits.ts';
import type { NumberedComment } from '../../../engine/engine.ts';
import { iso } from '../../iso.ts';
import type { Call } from '../../routes.ts';
import { type PageQuery, pageByOffset } from './pages.ts';
import { data } from './routes.ts';
import { type Around, nameOf } from './view.ts';

/** Around what an update says. */
const AROUND_BYTES = 300;

export async function listUpdates(call: Call<unknown, PageQuery>, job: Job) {
  const { engine, actor } = call;
  const { items, next } = await pageByOffset(call, call.query, {
    most: LIMITS.commentsPerJob,
    itemBytes: LIMITS.commentChars,
    // Updates are numbered from 1 on without a gap.
    read: (offset, count) => engine.jobs.comments(actor, job.id, offset, count),
    bytesOf: ({ text }) => AROUND_BYTES + Buffer.byteLength(text),
  });
  const users = await engine.users.called(items.map(({ by }) => by));
  return {
    ...data(items.map((comment) => updateView(job, comment, users))),
    has_more: await isMore(call, job, next),
  };
}

/** A page that is as long as was asked for may be the last one. */
async function isMore({ engine, actor }: Call, { id }: Job, next: number | null): Promise<boolean> {
  return next !== null && (await engine.jobs.comments(actor, id, next, 1)).length > 0;
}

export async function addUpdate({ engine, actor }: Call, { id }: Job, content: string) {
  const { job } = await engine.jobs.comment(actor, id, content);
  const users = await engine.users.called([actor.name]);
  const comment = { seq: job.comments, at: job.updatedAt, by: actor.name, text: content };
  return data(updateView(job, comment, users));
}

function updateView({ id }: Job, { seq, at, by, text }: NumberedComment, users: Around['users']) {
  return {
    id: `${id}-${seq}`,
    task_id: id,
    content: text,
    created_by: users.get(by)?.id ?? by,
    created_by_name: nameOf(users, by),
    created_at: iso(at),
  };
}
