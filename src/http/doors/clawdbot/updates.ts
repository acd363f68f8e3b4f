/** What is said about a task, in the order in which it was said. */

import type { Job } from '../../../domain/job.ts';
import { LIMITS } from '../../../domain/limits.ts';
import type { NumberedComment } from '../../../engine/engine.ts';
import { iso } from '../../iso.ts';
import type { Call } from '../../routes.ts';
import { data } from './routes.ts';
import { type Around, nameOf } from './view.ts';

export async function listUpdates({ engine, actor }: Call, job: Job) {
  const comments = await engine.jobs.comments(actor, job.id, 0, LIMITS.commentsPerJob);
  const users = await engine.users.called(comments.map(({ by }) => by));
  return data(comments.map((comment) => updateView(job, comment, users)));
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
