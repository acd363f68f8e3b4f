/**
 * Compares a database with its journal. A bit that flipped in a row leaves the database whole in form; the journal wrote
 * the row down when it was made, with a checksum.
 */

import { isDeepStrictEqual } from 'node:util';
import type { FeedEntry } from '../domain/event.ts';
import { CHANGING, type FixedJob } from '../domain/job-fields.ts';
import { INPUT_FIELDS } from '../domain/job-input.ts';
import type { Job, JobDetails, JobInput } from '../domain/job.ts';
import { joinedMeta } from '../domain/meta.ts';
import type { Reads } from '../store/store.ts';
import type { EventLine } from './journal-line.ts';
import { readJournal } from './journal-read.ts';

/** Event lines, and jobs with their inputs, that are in memory at once. */
const BATCH = 200;
const SHOWN = 10;

/** What changes without an event the journal may have as it was before. */
const TOLD = CHANGING.filter(({ silent }) => !silent);

export interface Comparison {
  /** Places of the journal that cannot be read, changed, or are missing. */
  readonly damaged: readonly string[];
  /** Jobs of which the two tell different things, and what. */
  readonly different: readonly string[];
  readonly jobs: number;
  readonly events: number;
}

type CompareReads = Pick<Reads, 'jobs' | 'details' | 'feed'>;

export async function compareWithJournal(dir: string, read: CompareReads): Promise<Comparison> {
  const compared = new Compared(read);
  const damaged: string[] = [];
  let batch: EventLine[] = [];
  for await (const { where, line } of readJournal(dir)) {
    if (line === null) damaged.push(where);
    else if ('pos' in line) batch.push(line);
    if (batch.length < BATCH) continue;
    await compared.look(batch);
    batch = [];
  }
  await compared.look(batch);
  return { damaged: damaged.slice(0, SHOWN), ...compared.found };
}

class Compared {
  readonly #read: CompareReads;
  readonly #different = new Map<number, Difference[]>();
  /** What was said anew of jobs, by name: how it was said before is nobody's any more. */
  readonly #reworded = new Map<number, Set<string>>();
  /** Jobs whose meta is not what the journal began with: what it should be by now, as edits are told of. */
  readonly #edited = new Map<number, { expected: string | null; readonly actual: string | null }>();
  readonly #jobs = new Set<number>();
  #events = 0;

  constructor(read: CompareReads) {
    this.#read = read;
  }

  get found(): Omit<Comparison, 'damaged'> {
    const unexplained = [...this.#edited].filter(([, { expected, actual }]) => expected !== actual);
    const own = [...this.#different].flatMap(([no, all]) => {
      const first = all.find(({ field }) => field === null || !this.#reworded.get(no)?.has(field));
      return first === undefined ? [] : [[no, first.what] as const];
    });
    const all = [...own, ...unexplained.map(([no]) => [no, INPUT_DIFFERS] as const)];
    const different = all.map(([no, what]) => `job ${no}: ${what}`);
    return { different: different.slice(0, SHOWN), jobs: this.#jobs.size, events: this.#events };
  }

  async look(lines: readonly EventLine[]): Promise<void> {
    const nos = [...new Set(lines.map(({ event }) => event.jobNo))];
    const jobs = new Map((await this.#read.jobs.byNo(nos)).map((job) => [job.no, job]));
    const details = await this.#read.details.of([...jobs.values()]);
    const entries = await this.#entriesOf(lines);
    const isNamed = await this.#namedBy(lines);
    // A table whose own description is damaged is noticed by whoever asks for the events of a job, too.
    await this.#read.feed.ofJob(nos[0] ?? 0, 0, 1);
    for (const line of lines) {
      const { jobNo } = line.event;
      const job = jobs.get(jobNo);
      // Retention removed it; its last line says so.
      if (job === undefined) continue;
      this.#jobs.add(jobNo);
      this.#events++;
      this.#followAsked(line);
      this.#followMeta(line, details.get(jobNo)?.input.meta ?? null);
      const found = differences(line, job, details.get(jobNo), entries.get(keyOf(line)));
      if (!isNamed(line)) found.push(other(`its own list of events lacks number ${line.event.seq}`));
      this.#keep(jobNo, found);
    }
  }

  /** Up to the first that nothing said later can explain. */
  #keep(jobNo: number, found: readonly Difference[]): void {
    const known = this.#different.get(jobNo) ?? [];
    if (found.length === 0 || known.some(({ field }) => field === null)) return;
    this.#different.set(jobNo, [...known, ...found]);
  }

  #followAsked({ event: { jobNo, kind, facts } }: EventLine): void {
    const asked = kind === 'job.edited' ? facts?.['asked'] : undefined;
    if (typeof asked !== 'object' || asked === null) return;
    const names = this.#reworded.get(jobNo) ?? new Set();
    for (const name of Object.keys(asked)) names.add(name);
    this.#reworded.set(jobNo, names);
  }

  /** The journal may have read the input before an edit or after it: to join an edit again changes nothing. */
  #followMeta({ event, input }: EventLine, actual: string | null): void {
    const { jobNo, kind, facts } = event;
    if (input && input.meta !== actual) this.#edited.set(jobNo, { expected: input.meta, actual });
    const known = this.#edited.get(jobNo);
    const metadata = kind === 'job.edited' ? facts?.['metadata'] : undefined;
    if (known !== undefined && metadata !== undefined)
      known.expected = joinedMeta(known.expected, JSON.stringify(metadata));
  }

  /** Whether its job names the commit that tells of an event: else the feed shows it, and the job does not. */
  async #namedBy(lines: readonly EventLine[]): Promise<(line: EventLine) => boolean> {
    const keys = await this.#read.feed.keysBetween(lines[0]?.pos ?? 0, lines.at(-1)?.pos ?? 0);
    const named = await this.#read.feed.keysNamedBy([...new Set(lines.map(({ event }) => event.jobNo))]);
    return ({ pos, event }) => named.get(event.jobNo)?.has(keys.get(pos) ?? -1) ?? false;
  }

  async #entriesOf(lines: readonly EventLine[]): Promise<ReadonlyMap<string, FeedEntry>> {
    const entries = new Map<string, FeedEntry>();
    const [first] = lines;
    const last = lines.at(-1);
    if (first === undefined || last === undefined) return entries;
    let after = { pos: first.pos, ordinal: first.ordinal - 1 };
    for (;;) {
      const page = await this.#read.feed.entries(after, BATCH);
      for (const entry of page) entries.set(keyOf(entry), entry);
      const end = page.at(-1);
      if (end === undefined || page.length < BATCH || end.pos > last.pos) return entries;
      after = end;
    }
  }
}

const INPUT_DIFFERS = 'its input is another';

interface Difference {
  /** What may have been said anew since; null where nothing can have. */
  readonly field: string | null;
  readonly what: string;
}

function other(what: string): Difference {
  return { field: null, what };
}

function keyOf({ pos, ordinal }: { readonly pos: number; readonly ordinal: number }): string {
  return `${pos}.${ordinal}`;
}

/** None when the line and the database agree; one that nothing explains is the last. */
function differences(
  line: EventLine,
  job: Job,
  details: JobDetails | undefined,
  entry: FeedEntry | undefined,
): Difference[] {
  const { event, fixed, input, comments } = line;
  if (entry === undefined) return [other(`event ${event.seq} is missing`)];
  const { pos: _, ordinal: __, ...kept } = entry;
  if (!isDeepStrictEqual({ ...kept }, { ...event })) return [other(`event ${event.seq} is another`)];
  if (details === undefined) return [other('its input is missing')];
  const found = [...changedFields(fixed, job), ...changedInput(input, details.input)];
  for (const [n, comment] of (comments?.list ?? []).entries())
    if (!isDeepStrictEqual({ ...details.comments[(comments?.from ?? 0) + n] }, { ...comment }))
      return [...found, other('a comment is another')];
  const what = changedRow(line, job, details);
  return what === null ? found : [...found, other(what)];
}

function changedRow({ job: row, outcome }: EventLine, job: Job, details: JobDetails): string | null {
  // A newer row has a line of its own, which may still be to come.
  if (row === undefined || row.seq < job.seq) return null;
  if (row.seq > job.seq) return 'its last events are missing';
  const field = TOLD.find(({ name }) => row[name] !== job[name]);
  if (field !== undefined) return `${field.name} is another`;
  const { result, error } = details;
  return outcome && (outcome.result !== result || outcome.error !== error) ? 'its outcome is another' : null;
}

function changedFields(fixed: FixedJob | undefined, job: Job): Difference[] {
  const names = Object.keys(fixed ?? {}) as (keyof FixedJob)[];
  // The root of a lineage is written into a row when its first retry is made.
  return names
    .filter((name) => name !== 'rootNo' && fixed?.[name] !== job[name])
    .map((name) => ({ field: name, what: `${name} is another` }));
}

function changedInput(before: JobInput | undefined, now: JobInput): Difference[] {
  if (before === undefined) return [];
  return INPUT_FIELDS.filter(
    ({ name }) => name !== 'meta' && !isDeepStrictEqual(before[name], now[name]),
  ).map(({ name }) => ({ field: name, what: INPUT_DIFFERS }));
}
