/** Lists of tasks: the more urgent first, of those the newer. What ended long ago is left out when there is too much. */

import { assigneeOf, BOT_PRIORITIES, botPriorityOf, UNASSIGNED } from '../../../domain/bot.ts';
import type { Job, State } from '../../../domain/job.ts';
import { LIMITS } from '../../../domain/limits.ts';
import { BOT_STATUS_OF, BOT_STATUSES, statesShownAs } from '../../../domain/statuses.ts';
import type { JobFilter } from '../../../engine/engine.ts';
import { openAndEnded, type Sized, sized } from '../../job-list.ts';
import type { Call } from '../../routes.ts';
import type { TasksQueryFields } from './schemas.ts';
import { around, parentsOf, taskView } from './view.ts';
import { isUuid, problem, statusNamed } from './words.ts';

const AT_ONCE = 50;
const NO_SOPS: ReadonlyMap<number, number> = new Map();
const WAITING = statesShownAs(BOT_STATUS_OF, 'pending');

interface Found {
  readonly jobs: readonly Job[];
  readonly truncated: boolean;
}

/** All tasks that fit every filter. */
export async function listTasks(call: Call<unknown, TasksQueryFields>): Promise<string> {
  const { query, engine } = call;
  const { assigned_to: assignedTo, task_type: type, unassigned = false, retries = false } = query;
  const states = statesOf(query.status).filter((state) => !unassigned || WAITING.includes(state));
  const filter = { ...(type !== undefined && { type }), ...(retries && { retries }) };
  if (assignedTo === undefined) {
    const target = unassigned ? { target: UNASSIGNED } : {};
    return page(call, await openAndEnded(call, { ...filter, ...target }, states), false);
  }
  if (!isUuid(assignedTo)) throw problem('assigned_to', 'assigned_to must be the id of a worker');
  const user = (await engine.users.everybody()).find(({ id }) => id === assignedTo);
  if (user === undefined || unassigned) return page(call, { jobs: [], truncated: false }, false);
  return page(call, await tasksOf(call, user.name, states, filter), false);
}

/** Those that are the caller's own. */
export async function listOwnTasks(call: Call<unknown, TasksQueryFields>): Promise<string> {
  return page(call, await tasksOf(call, call.actor.name, statesOf(call.query.status), {}), true);
}

function statesOf(status: string | undefined): readonly State[] {
  if (status === undefined) return BOT_STATUSES.flatMap((each) => statesShownAs(BOT_STATUS_OF, each));
  return statesShownAs(BOT_STATUS_OF, statusNamed(status));
}

/** What waits for a bot stands under its name; what it took, in an index of its own. */
async function tasksOf(
  call: Call,
  name: string,
  states: readonly State[],
  filter: Pick<JobFilter, 'type' | 'retries'>,
): Promise<Found> {
  const { engine } = call;
  const waiting = states.filter((state) => WAITING.includes(state));
  const held = states.filter((state) => !WAITING.includes(state));
  const typeNo = filter.type === undefined ? null : await typeNoOf(call, filter.type);
  const limit = LIMITS.pageJobs + 1;
  const open = await openAndEnded(call, { ...filter, target: name }, waiting);
  const found = await engine.bots.held(name, {
    states: held,
    typeNo,
    retries: filter.retries === true,
    limit,
  });
  const taken = await roomFor(call, found.slice(0, LIMITS.pageJobs));
  return { jobs: [...open.jobs, ...taken], truncated: open.truncated || taken.length < found.length };
}

/** As many as one answer may hold. Those that wait have room already. */
async function roomFor(call: Call, jobs: readonly Job[]): Promise<readonly Job[]> {
  const fitting: Sized[] = [];
  let bytes = 0;
  for (let at = 0; at < jobs.length && bytes <= LIMITS.answerBytes; at += AT_ONCE)
    for (const each of await sized(call, jobs.slice(at, at + AT_ONCE)))
      if ((bytes += each.bytes) <= LIMITS.answerBytes || fitting.length === 0) fitting.push(each);
  await call.parts.room.take(call, Math.min(bytes, LIMITS.answerBytes));
  return fitting.map(({ job }) => job);
}

async function typeNoOf({ engine }: Call, name: string): Promise<number> {
  return [...(await engine.types.known()).values()].find((type) => type.name === name)?.no ?? -1;
}

async function page(
  call: Call<unknown, Pick<TasksQueryFields, 'limit' | 'offset'>>,
  { jobs, truncated }: Found,
  withSop: boolean,
): Promise<string> {
  const { offset = 0, limit = jobs.length } = call.query;
  const unique = [...new Map(jobs.map((job) => [job.no, job])).values()];
  const inOrder = unique.toSorted((a, b) => rank(b) - rank(a) || b.no - a.no);
  const wanted = inOrder.slice(offset, offset + limit);
  const texts: string[] = [];
  let room: number = LIMITS.answerBytes;
  let shown = 0;
  // A few at a time, so that a long list holds up nobody else.
  for (let at = 0; at < wanted.length && room > 0; at += AT_ONCE) {
    const some = await fitting(call, wanted.slice(at, at + AT_ONCE), room, at === 0, withSop);
    const printed = await print(call, some, withSop);
    room -= printed.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
    texts.push(...printed);
    shown += some.length;
    if (some.length < Math.min(AT_ONCE, wanted.length - at)) break;
  }
  const hasMore = truncated || offset + shown < inOrder.length;
  return `{"success":true,"data":[${texts.join(',')}],"has_more":${hasMore}}`;
}

function rank({ priority }: Job): number {
  return BOT_PRIORITIES[botPriorityOf(priority)];
}

/** As many as there is room for; of the very first ones, one in any case. Instructions come with every task. */
async function fitting(
  call: Call,
  jobs: readonly Job[],
  room: number,
  first: boolean,
  withSop: boolean,
): Promise<Job[]> {
  const sops = withSop ? await sopBytes(call, jobs) : NO_SOPS;
  const some: Job[] = [];
  let [bytes, ofSops] = [0, 0];
  for (const each of await sized(call, jobs)) {
    const sop = sops.get(each.job.typeNo) ?? 0;
    bytes += each.bytes + sop;
    if (bytes > room && !(first && some.length === 0)) break;
    some.push(each.job);
    ofSops += sop;
  }
  await call.parts.room.take(call, ofSops);
  return some;
}

async function sopBytes({ engine }: Call, jobs: readonly Job[]): Promise<ReadonlyMap<number, number>> {
  const types = await engine.types.known();
  const nos = new Set(jobs.map(({ typeNo }) => typeNo));
  return new Map([...nos].map((no) => [no, Buffer.byteLength(JSON.stringify(types.get(no)?.sop ?? null))]));
}

function print(call: Call, jobs: readonly Job[], withSop: boolean): Promise<string[]> {
  const { engine, actor, parts } = call;
  return parts.longWork.run(actor, async () => {
    const [details, about] = await Promise.all([engine.jobs.details(jobs), around(engine, jobs, withSop)]);
    const parents = await parentsOf(engine, details.values());
    return jobs.flatMap((job) => {
      const known = details.get(job.no);
      // Retention may remove a finished job between two reads.
      return known === undefined ? [] : [JSON.stringify(taskView(job, known, { ...about, parents }))];
    });
  });
}

export function isAssigned(job: Job, name: string): boolean {
  return assigneeOf(job) === name;
}
