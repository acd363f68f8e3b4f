/** Prints the lines of events. Put together by hand, since it is done twice for every job. */

import type { Outcome } from '../domain/job.ts';
import { CHANGING, type ChangingJob, type FixedJob } from '../domain/job-changes.ts';
import type { FeedEntry } from '../store/store.ts';
import { EVENT_START, type EventLine } from './journal-line.ts';

/** What the line of an event tells of its job; `row` is printed already. */
export interface Told extends Pick<EventLine, 'fixed' | 'input' | 'outcome' | 'comments' | Origin> {
  readonly row: string;
}
export type Origin = 'after' | 'run' | 'gate';

export class EventPrinter {
  #last: FeedEntry | null = null;
  #lastHappening = '';

  print(event: FeedEntry, told: Told | null): string {
    const { pos, ordinal, jobNo, seq } = event;
    const start = `${EVENT_START}${pos},"ordinal":${ordinal},"event":{"jobNo":${jobNo},"seq":${seq},${this.#happening(event)}}`;
    return told === null ? `${start}}\n` : `${start},"row":${told.row}${besideRow(told)}}\n`;
  }

  /** What happens to many jobs in a row is printed once: events of one flush share their facts. */
  #happening(event: FeedEntry): string {
    const { at, kind, by, facts } = event;
    const last = this.#last;
    if (last === null || at !== last.at || kind !== last.kind || by !== last.by || facts !== last.facts) {
      this.#last = event;
      this.#lastHappening = `"at":${at},"kind":"${kind}","by":${JSON.stringify(by)},"facts":${JSON.stringify(facts)}`;
    }
    return this.#lastHappening;
  }
}

function besideRow({ fixed, input, after, outcome, run, gate, comments }: Told): string {
  let text = '';
  if (fixed !== undefined) text += `,"fixed":${JSON.stringify(thinFixed(fixed))}`;
  if (input !== undefined) text += `,"input":${JSON.stringify(input)}`;
  if (after !== undefined) text += `,"after":${JSON.stringify(after)}`;
  if (outcome !== undefined) text += `,"outcome":${printOutcome(outcome)}`;
  if (run !== undefined) text += `,"run":${JSON.stringify(run)}`;
  if (gate !== undefined) text += `,"gate":${JSON.stringify(gate)}`;
  if (comments !== undefined) text += `,"comments":${JSON.stringify(comments)}`;
  return text;
}

function printOutcome({ result, error }: Outcome): string {
  return `{"result":${result === null ? 'null' : JSON.stringify(result)},"error":${error === null ? 'null' : JSON.stringify(error)}}`;
}

/** As the database prints it. */
export function printRow(job: ChangingJob): string {
  const values = CHANGING.map((field) => job[field]);
  return JSON.stringify(values.map((value) => (typeof value === 'boolean' ? Number(value) : value)));
}

/** Most of what may be null is null for most jobs; leaving it out shortens the journal. */
function thinFixed(job: FixedJob): object {
  return {
    id: job.id,
    typeNo: job.typeNo,
    target: job.target,
    createdAt: job.createdAt,
    createdBy: job.createdBy,
    leaseMs: job.leaseMs,
    timeoutMs: job.timeoutMs ?? undefined,
    retryMode: job.retryMode,
    retryMax: job.retryMax,
    backoffMs: job.backoffMs,
    retryCount: job.retryCount,
    retryOf: job.retryOf ?? undefined,
    rootNo: job.rootNo ?? undefined,
    parentNo: job.parentNo ?? undefined,
    scheduleId: job.scheduleId ?? undefined,
    uniqueKey: job.uniqueKey ?? undefined,
    pool: job.pool ?? undefined,
    concurrencyKey: job.concurrencyKey ?? undefined,
  } satisfies Record<keyof FixedJob, unknown>;
}
