/** Lists of tasks: the more urgent first, of those the newer. What ended long ago is left out when there is too much. */

import { assigneeOf, type RankedWindow, UNASSIGNED } from '../../../domain/bot.ts';
import { FINAL_STATES, type Job, OPEN_STATES, type State } from '../../../domain/job.ts';
import { LIMITS } from '../../../domain/limits.ts';
import { BOT_STATUS_OF, BOT_STATUSES, statesShownAs } from '../../../domain/statuses.ts';
import type { JobFilter } from '../../../engine/engine.ts';
import type { Place } from '../../answer-room.ts';
import { sized } from '../../job-list.ts';
import { LARGE_ITEM_BYTES } from '../../page.ts';
import type { Call } from '../../routes.ts';
import type { TasksQueryFields } from './schemas.ts';
import { TasksInOrder } from './tasks-in-order.ts';
import { around, parentsOf, taskView } from './view.ts';
import { isUuid, problem, statusNamed } from './words.ts';

const AT_ONCE = 50;
/** So many are looked at in one go. */
const WINDOW = 2_000;
const NO_SOPS: ReadonlyMap<number, number> = new Map();
const WAITING = statesShownAs(BOT_STATUS_OF, 'pending');

type Wanted = Pick<JobFilter, 'type' | 'retries' | 'target'>;

/** All tasks that fit every filter. */
export async function listTasks(call: Call<unknown, TasksQueryFields>): Promise<string> {
  const { query, engine } = call;
  const { assigned_to: assignedTo, task_type: type, unassigned = false, retries = false } = query;
  const states = statesOf(query.status).filter((state) => !unassigned || WAITING.includes(state));
  const filter = { ...(type !== undefined && { type }), ...(retries && { retries }) };
  const found = new TasksInOrder();
  if (assignedTo === undefined) {
    const target = unassigned ? { target: UNASSIGNED } : {};
    await look(call, found, { ...filter, ...target }, states);
    return page(call, found, false);
  }
  if (!isUuid(assignedTo)) throw problem('assigned_to', 'assigned_to must be the id of a worker');
  const user = (await engine.users.everybody()).find(({ id }) => id === assignedTo);
  if (user !== undefined && !unassigned) await lookForBot(call, found, user.name, states, filter);
  return page(call, found, false);
}

/** Those that are the caller's own. */
export async function listOwnTasks(call: Call<unknown, TasksQueryFields>): Promise<string> {
  const found = new TasksInOrder();
  await lookForBot(call, found, call.actor.name, statesOf(call.query.status), {});
  return page(call, found, true);
}

function statesOf(status: string | undefined): readonly State[] {
  if (status === undefined) return BOT_STATUSES.flatMap((each) => statesShownAs(BOT_STATUS_OF, each));
  return statesShownAs(BOT_STATUS_OF, statusNamed(status));
}

/** What waits for a bot stands under its name; what it took, in an index of its own. */
async function lookForBot(
  call: Call<unknown, TasksQueryFields>,
  found: TasksInOrder,
  name: string,
  states: readonly State[],
  filter: Wanted,
): Promise<void> {
  const { engine, actor, parts } = call;
  const waiting = states.filter((state) => WAITING.includes(state));
  await look(call, found, { ...filter, target: name }, waiting);
  const held = {
    states: states.filter((state) => !WAITING.includes(state)),
    typeNo: filter.type === undefined ? null : await typeNoOf(call, filter.type),
    retries: filter.retries === true,
    limit: LIMITS.endedOfBot,
  };
  found.add(await parts.longWork.run(actor, () => engine.bots.held(name, held, most(call))));
}

/** What is unfinished may end meanwhile, and is found again then. */
async function look(
  call: Call<unknown, TasksQueryFields>,
  found: TasksInOrder,
  filter: Wanted,
  states: readonly State[],
): Promise<void> {
  const among = (some: readonly State[]): readonly State[] => states.filter((state) => some.includes(state));
  await lookAt(call, found, { ...filter, states: among(OPEN_STATES) }, Infinity);
  await lookAt(call, found, { ...filter, states: among(FINAL_STATES) }, LIMITS.endedTasks);
}

async function lookAt(
  call: Call<unknown, TasksQueryFields>,
  found: TasksInOrder,
  wanted: Wanted & Pick<JobFilter, 'states'>,
  within: number,
): Promise<void> {
  const { engine, actor, parts } = call;
  let from: number | null = null;
  let left = within;
  do {
    const limit = Math.min(WINDOW, left);
    const filter: JobFilter = { ...wanted, ...(from !== null && { from }), order: 'newest', limit };
    const window: RankedWindow = await parts.longWork.run(actor, () =>
      engine.bots.ranked(actor, filter, most(call)),
    );
    found.add(window.ranked);
    left -= window.size;
    from = window.next;
  } while (from !== null && left > 0);
}

/** How many of them can be before the end of the page, and one behind it. */
function most({ query: { offset = 0, limit = LIMITS.pageJobs } }: Call<unknown, TasksQueryFields>): number {
  return offset + limit + 1;
}

async function typeNoOf({ engine }: Call, name: string): Promise<number> {
  return [...(await engine.types.known()).values()].find((type) => type.name === name)?.no ?? -1;
}

async function page(
  call: Call<unknown, TasksQueryFields>,
  found: TasksInOrder,
  withSop: boolean,
): Promise<string> {
  const { engine, parts, query } = call;
  const { offset = 0, limit = LIMITS.pageJobs } = query;
  const nos = found.between(offset, offset + limit + 1);
  const place = await parts.room.take(call, LARGE_ITEM_BYTES);
  const texts: string[] = [];
  let room: number = LIMITS.answerBytes;
  let shown = 0;
  // A few at a time, so that a long list holds up nobody else.
  for (let at = 0; at < Math.min(limit, nos.length) && room > 0; at += AT_ONCE) {
    const wanted = nos.slice(at, Math.min(at + AT_ONCE, limit));
    const jobs = await engine.bots.numbered(wanted);
    const some = await fitting(call, jobs, { room, place, first: at === 0, withSop });
    const printed = await print(call, some, withSop);
    room -= printed.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
    texts.push(...printed);
    shown = at + (some.length < jobs.length ? some.length : wanted.length);
    if (some.length < jobs.length) break;
  }
  return `{"success":true,"data":[${texts.join(',')}],"has_more":${shown < nos.length}}`;
}

interface Fitting {
  readonly room: number;
  readonly place: Place;
  readonly first: boolean;
  readonly withSop: boolean;
}

/** As many as there is room for; of the very first ones, one in any case. Instructions come with every task. */
async function fitting(
  call: Call,
  jobs: readonly Job[],
  { room, place, first, withSop }: Fitting,
): Promise<Job[]> {
  const sops = withSop ? await sopBytes(call, jobs) : NO_SOPS;
  const some: Job[] = [];
  let bytes = 0;
  for (const each of await sized(call, jobs)) {
    const more = each.bytes + (sops.get(each.job.typeNo) ?? 0);
    const isFirst = first && some.length === 0;
    if (bytes + more > room && !isFirst) break;
    if (isFirst) place.grow(more);
    else if (!place.tryGrow(more)) break;
    bytes += more;
    some.push(each.job);
  }
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
