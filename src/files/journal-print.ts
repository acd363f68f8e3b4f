/** Prints the lines of events. Put together by hand, since it is done twice for every job. */

import type { FeedEntry } from '../domain/event.ts';
import type { Outcome } from '../domain/job.ts';
import { CHANGING, type ChangingJob, FIXED, type FixedJob } from '../domain/job-fields.ts';
import { storedValues } from '../domain/job-values.ts';
import { generatedFunction } from '../domain/generated-function.ts';
import { EVENT_START, type EventLine } from './journal-line.ts';

/** What the line of an event tells of its job; `row` is printed already. */
export interface Told
  extends Pick<EventLine, 'fixed' | 'input' | 'outcome' | 'checkpoint' | 'comments' | Origin> {
  readonly row: string;
}
export type Origin = 'after' | 'run' | 'approval';

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

function besideRow({ fixed, input, after, outcome, checkpoint, run, approval, comments }: Told): string {
  let text = '';
  if (fixed !== undefined) text += `,"fixed":${JSON.stringify(thinFixed(fixed))}`;
  if (input !== undefined) text += `,"input":${JSON.stringify(input)}`;
  if (after !== undefined) text += `,"after":${JSON.stringify(after)}`;
  if (outcome !== undefined) text += `,"outcome":${printOutcome(outcome)}`;
  if (checkpoint !== undefined) text += `,"checkpoint":${JSON.stringify(checkpoint)}`;
  if (run !== undefined) text += `,"run":${JSON.stringify(run)}`;
  if (approval !== undefined) text += `,"approval":${JSON.stringify(approval)}`;
  if (comments !== undefined) text += `,"comments":${JSON.stringify(comments)}`;
  return text;
}

function printOutcome({ result, error }: Outcome): string {
  return `{"result":${result === null ? 'null' : JSON.stringify(result)},"error":${error === null ? 'null' : JSON.stringify(error)}}`;
}

const values = storedValues(CHANGING);

/** As the database prints it. */
export function printRow(job: ChangingJob): string {
  return JSON.stringify(values(job));
}

/** Most of what may be null is null for most jobs; leaving it out shortens the journal. */
const thinFixed = generatedFunction(
  ['job'],
  `({ ${FIXED.map(({ name, default: value }) => `${name}: job.${name}${value === null ? ' ?? undefined' : ''}`).join(', ')} })`,
) as (job: FixedJob) => object;
