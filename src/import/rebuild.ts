/** Makes a database from the journal alone, or from the readable files when there is no journal. */

import type { EventLine, JournalLine, ScheduleFacts } from '../files/journal-line.ts';
import type { Store } from '../store/store.ts';
import { finishRebuild, type Settings } from './rebuild-end.ts';
import { JobReplay } from './rebuild-jobs.ts';
import { finishRuns } from './rebuild-runs.ts';
import { importSchedules } from './schedules.ts';
import { importTypes } from './types.ts';
import { importV0, type V0Options, type V0Report } from './v0.ts';
import { importBlobs } from './v0-blobs.ts';

export interface RebuildOptions {
  /** The journal's lines in their order; null stands for a line that cannot be read. */
  readonly journal: AsyncIterable<{ readonly where: string; readonly line: JournalLine | null }>;
  /** A new, empty database. */
  readonly store: Store;
  /** The data dir, for blobs and as the second source. */
  readonly dir: string;
  readonly now: number;
  readonly defaults: V0Options['defaults'];
}

export interface RebuildReport {
  readonly from: 'journal' | 'files';
  readonly jobs: number;
  readonly events: number;
  readonly blobs: number;
  readonly schedules: number;
  /** Lines or files that could not be read, with their places. */
  readonly unreadable: readonly string[];
  /** Jobs whose end is known to have happened but not how; they are `failed` with a reason. */
  readonly uncertain: number;
}

const BATCH_LINES = 500;

export async function rebuild(options: RebuildOptions): Promise<RebuildReport> {
  const { store } = options;
  const replay = new JobReplay(store);
  const settings: Settings = {
    types: new Map(),
    pools: [],
    pauses: [],
    schedules: new Map(),
    settled: new Set(),
  };
  const unreadable: string[] = [];
  let batch: EventLine[] = [];
  const putBatch = async (): Promise<void> => {
    const lines = batch;
    batch = [];
    if (lines.length > 0) await replay.apply(lines);
  };
  for await (const { where, line } of options.journal) {
    if (line === null) unreadable.push(where);
    else if ('pos' in line) {
      batch.push(line);
      if (line.job) settings.settled.delete(line.event.jobNo);
    } else if ('pruned' in line) {
      await putBatch();
      await replay.prune(line.pruned);
    } else take(settings, line);
    if (batch.length >= BATCH_LINES) await putBatch();
  }
  await putBatch();
  if (replay.events === 0 && settings.schedules.size === 0) return fromFiles(options, unreadable);
  const schedules = await finishRebuild(store, replay, settings, options.now);
  const blobs = await importBlobs(options.dir, store);
  return {
    from: 'journal',
    jobs: replay.jobs,
    events: replay.events,
    blobs,
    schedules,
    unreadable,
    uncertain: replay.displaced.size,
  };
}

function take(settings: Settings, line: Exclude<JournalLine, EventLine | { pruned: unknown }>): void {
  if ('type' in line) settings.types.set(line.type.no, line.type);
  if ('pools' in line) settings.pools = line.pools;
  if ('pauses' in line) settings.pauses = line.pauses;
  if ('settled' in line) for (const no of line.settled) settings.settled.add(no);
  if ('schedule' in line) takeSchedule(settings.schedules, line.schedule);
  if ('scheduleGone' in line) settings.schedules.delete(line.scheduleGone);
  if ('schedules' in line) keepOnly(settings.schedules, new Set(line.schedules));
}

/** In the order in which they were last told of. */
function takeSchedule(schedules: Map<string, ScheduleFacts>, schedule: ScheduleFacts): void {
  schedules.delete(schedule.id);
  schedules.set(schedule.id, schedule);
}

function keepOnly(schedules: Map<string, ScheduleFacts>, ids: ReadonlySet<string>): void {
  for (const id of schedules.keys()) if (!ids.has(id)) schedules.delete(id);
}

async function fromFiles(options: RebuildOptions, badLines: readonly string[]): Promise<RebuildReport> {
  const unreadable = [...badLines, ...(await importTypes(options.dir, options.store))];
  const runs = new Set<number>();
  const onRun = (jobNo: number): void => void runs.add(jobNo);
  const report: V0Report = (await importV0({ ...options, onRun })) ?? {
    jobs: 0,
    already: 0,
    events: 0,
    blobs: 0,
    unreadable: [],
  };
  await finishRuns(options.store, runs, new Set());
  const schedules = await importSchedules(options.dir, options.store, options.now);
  const { jobs, events, blobs } = report;
  return {
    from: 'files',
    jobs,
    events,
    blobs,
    schedules: schedules.count,
    unreadable: [...unreadable, ...report.unreadable, ...schedules.unreadable],
    uncertain: 0,
  };
}
