/** A job as bots see it: a task, with the names of those who have to do with it. */

import { assigneeOf, botPriorityOf, countedRetries } from '../../../domain/bot.ts';
import { type JobType, lineageRetries } from '../../../domain/job-type.ts';
import { isFinal, type Job, type JobDetails } from '../../../domain/job.ts';
import { metaFacts } from '../../../domain/meta.ts';
import { BOT_STATUS_OF } from '../../../domain/statuses.ts';
import type { CalledUser, Engine } from '../../../engine/engine.ts';
import { iso } from '../../iso.ts';
import { isFullId } from '../../job-id.ts';

/** What there is to show of a task beside its row; of one that was just claimed only what was asked for is known. */
export type Known = Pick<JobDetails, 'input'> & Partial<Pick<JobDetails, 'result' | 'retryOfId'>>;

export interface Around {
  readonly users: ReadonlyMap<string, CalledUser>;
  readonly types: ReadonlyMap<number, JobType>;
  /** Whoever does the work is told how. */
  readonly withSop: boolean;
  /** Of the tasks that these say they continue, those that are still there. */
  readonly parents?: ReadonlySet<string>;
}

/** The task that this one says it continues, if it says so. At other doors meta is whatever its maker likes. */
function parentSaid({ input }: Known): string | null {
  const said = input.meta === null ? null : metaFacts(input.meta)['parentTaskId'];
  return typeof said === 'string' && isFullId(said) ? said : null;
}

export function parentsOf(engine: Engine, known: Iterable<Known>): Promise<ReadonlySet<string>> {
  return engine.bots.existing([...known].flatMap((each) => parentSaid(each) ?? []));
}

export async function around(engine: Engine, jobs: readonly Job[], withSop: boolean): Promise<Around> {
  const names = jobs.flatMap((job) => [assigneeOf(job) ?? [], job.createdBy].flat());
  const [users, types] = await Promise.all([engine.users.called(names), engine.types.known()]);
  return { users, types, withSop };
}

export function taskView(job: Job, known: Known, about: Around) {
  const { input, result = null, retryOfId = null } = known;
  const { users, types, withSop, parents } = about;
  const assignee = assigneeOf(job);
  const type = types.get(job.typeNo);
  const parent = parentSaid(known);
  return {
    id: job.id,
    title: input.title ?? `#${job.no}`,
    description: input.description,
    assigned_to: assignee === null ? null : (users.get(assignee)?.id ?? assignee),
    ...(assignee !== null && { assigned_to_name: nameOf(users, assignee) }),
    status: BOT_STATUS_OF[job.state],
    priority: botPriorityOf(job.priority),
    task_type_id: job.typeNo === 0 ? null : job.typeNo,
    ...(type !== undefined && {
      task_type: {
        id: type.no,
        name: type.name,
        label: type.label,
        ...(withSop && { sop: type.sop }),
        max_retries: lineageRetries(type),
      },
    }),
    params: parsed(input.params),
    result: parsed(result),
    created_by: users.get(job.createdBy)?.id ?? job.createdBy,
    created_by_name: nameOf(users, job.createdBy),
    created_at: iso(job.createdAt),
    updated_at: iso(job.updatedAt),
    started_at: job.startedAt === null ? null : iso(job.startedAt),
    completed_at: isFinal(job.state) && job.finishedAt !== null ? iso(job.finishedAt) : null,
    retry_count: job.retryCount + countedRetries(job, input.meta),
    parent_task_id: retryOfId ?? (parent !== null && parents?.has(parent) === true ? parent : null),
  };
}

/** Work of other doors is done by whoever has a name there. */
export function nameOf(users: Around['users'], name: string): string {
  return users.get(name)?.fullName ?? name;
}

export function typeView(type: JobType) {
  const { no, name, label, sop, paramsSchema, maxRetries, active, createdAt, updatedAt } = type;
  const { scoring, provider } = type;
  return {
    id: no,
    name,
    label,
    sop,
    param_schema: parsed(paramsSchema),
    max_retries: lineageRetries({ maxRetries }),
    scoring,
    provider,
    is_active: active,
    created_at: iso(createdAt),
    updated_at: iso(updatedAt),
  };
}

function parsed(json: string | null): unknown {
  return json === null ? null : JSON.parse(json);
}
