/** How an event lies in its flush, in the row of its job, and in a row of its own. */

import type { JobEvent } from '../../domain/event.ts';
import type { HistoryEvent } from '../store.ts';
import { perDialect, type Row, type Shape } from './driver.ts';

export const EVENT: Shape = {
  table: 'event',
  columns: [
    ['job_no', 'bigint'],
    ['seq', 'bigint'],
    ['at', 'bigint'],
    ['kind', 'text'],
    ['actor', 'text'],
    ['facts', 'text'],
  ],
};

export function eventRow(event: JobEvent): Row {
  return [event.jobNo, event.seq, event.at, event.kind, event.by, factsText(event)];
}

export const EVENT_COLUMNS = 'job_no, seq, at, kind, actor, facts';

export function eventFrom(row: Row): JobEvent {
  return {
    jobNo: row[0] as number,
    seq: row[1] as number,
    at: row[2] as number,
    kind: row[3] as JobEvent['kind'],
    by: row[4] as string,
    facts: row[5] === null ? null : (JSON.parse(row[5] as string) as JobEvent['facts']),
  };
}

function factsText({ facts }: Pick<JobEvent, 'facts'>): string | null {
  return facts === null ? null : JSON.stringify(facts);
}

/** The same happened, at the same time and by the same hand: as it does to all jobs of a batch. */
function isSame(a: Happening, b: Happening): boolean {
  return a.at === b.at && a.kind === b.kind && a.by === b.by && haveSameFacts(a.facts, b.facts);
}

type Happening = Pick<JobEvent, 'at' | 'kind' | 'by' | 'facts'>;

/** Facts that hold more than plain values count as different: to look into them would cost more than to print them. */
function haveSameFacts(a: JobEvent['facts'], b: JobEvent['facts']): boolean {
  if (a === b) return true;
  if (a === null || b === null) return false;
  for (const name in a) if (a[name] !== b[name]) return false;
  for (const name in b) if (!(name in a)) return false;
  return true;
}

/** An event's parts as JSON; kinds are words of our own and need no escaping. */
function happeningText(event: Happening): string {
  return `${event.at},"${event.kind}",${JSON.stringify(event.by)},${factsText(event)}`;
}

type Told = [seq: number, at: number, kind: JobEvent['kind'], by: string, facts: JobEvent['facts']];
type Events = readonly HistoryEvent[];

/**
 * Prints the newest events of a job as they lie in its own row, which is written anyhow: JSON arrays with a comma behind
 * each, so that another one is added by writing it behind them. What is the same as before need not be printed again.
 */
export function historyPrinter(): (events: Events) => string {
  let last: HistoryEvent | null = null;
  let lastText = '';
  const textOf = (event: HistoryEvent): string => {
    if (last === null || last.seq !== event.seq || !isSame(last, event))
      lastText = `[${event.seq},${happeningText(event)}],`;
    last = event;
    return lastText;
  };
  return (events) => {
    const [first] = events;
    return first !== undefined && events.length === 1 ? textOf(first) : events.map(textOf).join('');
  };
}

export function historyFrom(jobNo: number, text: string): JobEvent[] {
  const events = JSON.parse(`[${text.slice(0, -1)}]`) as Told[];
  return events.map(([seq, at, kind, by, facts]) => ({ jobNo, seq, at, kind, by, facts }));
}

/** Events that follow each other in the feed and differ only in their job and its count. */
type Group = [
  ordinal: number,
  at: number,
  kind: JobEvent['kind'],
  by: string,
  facts: JobEvent['facts'],
  jobNos: number[],
  seqs: number[],
];

/** All events of a flush in the order of the feed, as JSON. */
export function entriesText(events: readonly JobEvent[], ordinalOf: (place: number) => number): string {
  const groups: string[] = [];
  let from = 0;
  while (from < events.length) {
    const first = events[from] as JobEvent;
    const start = ordinalOf(from);
    const jobNos: number[] = [];
    const seqs: number[] = [];
    let place = from;
    for (; place < events.length; place++) {
      const event = events[place] as JobEvent;
      if (ordinalOf(place) !== start + place - from || !isSame(first, event)) break;
      jobNos.push(event.jobNo);
      seqs.push(event.seq);
    }
    groups.push(`[${start},${happeningText(first)},[${jobNos.join(',')}],[${seqs.join(',')}]]`);
    from = place;
  }
  return `[${groups.join(',')}]`;
}

export interface Entry extends JobEvent {
  readonly ordinal: number;
}

export function entriesFrom(text: string): Entry[] {
  return (JSON.parse(text) as Group[]).flatMap(([ordinal, at, kind, by, facts, jobNos, seqs]) =>
    jobNos.map(
      (jobNo, i): Entry => ({ ordinal: ordinal + i, jobNo, seq: seqs[i] as number, at, kind, by, facts }),
    ),
  );
}

/** The same in SQL: the jobs that a flush tells of, and a job's history as rows. */
export const eventSql = perDialect((dialect) => {
  const history = "'[' || rtrim(job.history, ',') || ']'";
  const item = (place: number): string => `(item.value ->> ${place})`;
  return dialect === 'sqlite'
    ? {
        jobNos:
          "select told.value from json_each(flush.entries) as entry, json_each(entry.value, '$[5]') as told",
        history: `json_each(${history}) as item`,
        seq: item(0),
        at: item(1),
        kind: item(2),
        actor: item(3),
        facts: item(4),
      }
    : {
        jobNos: `select told.value::bigint from json_array_elements(flush.entries::json) as entry (value),
          json_array_elements_text(entry.value -> 5) as told (value)`,
        history: `lateral json_array_elements((${history})::json) as item (value)`,
        seq: `${item(0)}::bigint`,
        at: `${item(1)}::bigint`,
        kind: item(2),
        actor: item(3),
        facts: item(4),
      };
});

/** When the job of the row was first claimed. */
export const firstClaimAt = perDialect((dialect) => {
  const { history, at, kind } = eventSql({ dialect });
  return `(select min(at) from (
      select at from event where event.job_no = job.no and event.kind = 'job.claimed'
      union all select ${at} from ${history} where ${kind} = 'job.claimed'
    ) as claim)`;
});
