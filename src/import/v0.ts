/** Takes over a data dir that Spine v0 wrote. Nothing of it is deleted: its files become the readable ones. */

import type { JobEvent } from '../domain/event.ts';
import type { Store, Tx } from '../store/store.ts';
import { count } from './counts.ts';
import { linkDependencies } from './dependencies.ts';
import { importBlobs } from './v0-blobs.ts';
import { type FoundFile, readJobFile, scanJobs, type V0Job } from './v0-files.ts';
import { type Defaults, eventsOf, rowOf } from './v0-rows.ts';
import { importHandedOn } from './v0-questions.ts';
import { importApproval, insertRun } from './v0-scheduling.ts';

export interface V0Options {
  /** The data dir, in which jobs/, events/ and blobs/ lie. */
  readonly dir: string;
  readonly store: Store;
  readonly now: number;
  /** What v0 had in its environment and not in its files. */
  readonly defaults: Defaults;
  /** Is told of every job that a schedule made. */
  readonly onRun?: (jobNo: number) => void;
}

export interface V0Report {
  readonly jobs: number;
  /** Jobs that an earlier, interrupted import brought in. */
  readonly already: number;
  readonly events: number;
  readonly blobs: number;
  /** Files that are no jobs, with the reason. */
  readonly unreadable: readonly string[];
}

const BATCH_JOBS = 200;
const DONE = 'v0Import';

/** At the first start on a data dir. Answers null when it has been done; killed half-way, the next start finishes it. */
export async function importV0(options: V0Options): Promise<V0Report | null> {
  const { dir, store } = options;
  if ((await store.read.meta.get(DONE)) !== null) return null;
  const { found, unreadable } = await scanJobs(dir);
  let jobs = 0;
  let events = 0;
  for (let i = 0; i < found.length; i += BATCH_JOBS) {
    const batch = await readBatch(dir, found.slice(i, i + BATCH_JOBS), unreadable);
    const done = await store.transaction(0, (tx) => insertBatch(tx, batch, options));
    jobs += done.jobs;
    events += done.events;
  }
  const blobs = await importBlobs(dir, store);
  const report = { jobs, already: found.length - jobs, events, blobs, unreadable };
  await store.transaction(0, async (tx) => tx.meta.set(DONE, JSON.stringify({ at: options.now, ...report })));
  return report;
}

/** One line for people, e.g. "imported 1,203 jobs, 2 files were not readable: a.json, b.json". */
export function importSummary({ jobs, already, unreadable }: V0Report): string {
  const before = already > 0 ? ` (${amount(already, 'job')} had been imported before)` : '';
  const imported = `imported ${amount(jobs, 'job')}${before}`;
  if (unreadable.length === 0) return imported;
  const shown = unreadable.slice(0, 10).join(', ') + (unreadable.length > 10 ? ', …' : '');
  return `${imported}, ${amount(unreadable.length, 'file')} ${unreadable.length === 1 ? 'was' : 'were'} not readable: ${shown}`;
}

function amount(n: number, noun: string): string {
  return `${n.toLocaleString('en-US')} ${noun}${n === 1 ? '' : 's'}`;
}

async function readBatch(dir: string, files: readonly FoundFile[], unreadable: string[]): Promise<V0Job[]> {
  const jobs: V0Job[] = [];
  for (const { name } of files) {
    const job = await readJobFile(dir, name);
    if (typeof job === 'string') unreadable.push(`${name} (${job})`);
    else jobs.push(job);
  }
  return jobs;
}

/** A job is imported with all that belongs to it in one transaction, so one that is there needs nothing more. */
async function insertBatch(
  tx: Tx,
  batch: readonly V0Job[],
  options: V0Options,
): Promise<{ jobs: number; events: number }> {
  const there = new Set((await tx.jobs.lock(batch.map(({ id }) => id))).map(({ id }) => id));
  const events: JobEvent[] = [];
  let jobs = 0;
  for (const job of batch) {
    if (there.has(job.id)) continue;
    there.add(job.id);
    events.push(...(await insertJob(tx, job, options)));
    jobs++;
  }
  if (events.length > 0) await tx.feed.add(events, events.at(-1)?.at ?? options.now);
  return { jobs, events: events.length };
}

/** One after another: a job may name an older one of the same batch. */
async function insertJob(tx: Tx, job: V0Job, { now, defaults, onRun }: V0Options): Promise<JobEvent[]> {
  const history = eventsOf(job, now);
  const { row, edges } = await rowOf(tx, job, history.length, defaults);
  const [jobNo = 0] = await tx.jobs.insert([row]);
  await count(tx, [{ target: row.job.target, state: row.job.state, by: 1 }]);
  if (job.result !== null || job.error !== null)
    await tx.jobs.saveOutcomes([{ jobNo, result: job.result, error: job.error }]);
  await tx.comments.add(job.comments.map((comment, at) => ({ jobNo, seq: at + 1, ...comment })));
  const made = { ...row.job, no: jobNo };
  if (await insertRun(tx, made, job.fields)) onRun?.(jobNo);
  await importApproval(tx, made, job.fields);
  await importHandedOn(tx, made, job.fields);
  await linkDependencies(tx, made, edges);
  return history.map((event) => ({ ...event, jobNo }));
}
