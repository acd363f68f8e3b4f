/** One thing done to all jobs that fit a filter, a few at a time, so that nobody else has to wait for it. */

import type { Actor } from './command.ts';
import type { ListFilter } from './job-filter.ts';
import { isFinal, type State, STATES } from './job.ts';

export const BULK_ACTIONS = ['retry', 'cancel', 'redrive', 'delete'] as const;
export type BulkAction = (typeof BULK_ACTIONS)[number];

/** As a list is filtered, without its page; `words` are looked for in titles and descriptions. */
export type BulkFilter = Omit<ListFilter, 'order' | 'from' | 'limit'> & { readonly words: string | null };

export interface Bulk {
  readonly no: number;
  readonly id: string;
  readonly action: BulkAction;
  readonly filter: BulkFilter;
  readonly state: 'running' | 'done' | 'cancelled';
  /** With the rights that they had when they asked. */
  readonly createdBy: string;
  readonly role: Actor['role'];
  readonly createdAt: number;
  /** Of its last step: whoever had none for longest is next. */
  readonly steppedAt: number;
  readonly endedAt: number | null;
  /** How many jobs fitted when it was asked for. */
  readonly count: number;
  /** Jobs that came later are left alone. */
  readonly lastNo: number;
  /** The number of the job that was looked at last. */
  readonly doneNo: number;
  readonly changed: number;
  /** That could not be changed, e.g. because somebody waits for them. */
  readonly refused: number;
}

/** The states from which an action leads anywhere. Retrying what went well has to be asked for by its state. */
const FROM: Readonly<Record<BulkAction, (state: State, named: boolean) => boolean>> = {
  cancel: (state) => !isFinal(state),
  retry: (state, named) => isFinal(state) && (named || state !== 'done'),
  redrive: (state) => state === 'dead',
  delete: (state) => isFinal(state),
};

export function statesFor(action: BulkAction, wanted: readonly State[] | null): State[] {
  return (wanted ?? STATES).filter((state) => FROM[action](state, wanted !== null));
}
