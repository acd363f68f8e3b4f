import type { State, Stats } from '../../client/index.ts';
import type { Handler } from '../command.ts';
import { type Line, type Piece, styled } from '../text/line.ts';
import { stateText, STATES } from '../text/states.ts';
import { table } from '../text/table.ts';

export const stats: Handler = async (session) => {
  const counted = await (await session.client()).stats();
  session.out.result({ value: counted, lines: () => statsTable(counted, session.out.columns) });
};

/** Targets down, states across; states that nobody is in are left out. */
function statsTable({ states, targets }: Stats, columns: number): Line[] {
  const shown = STATES.filter((state) => (states[state] ?? 0) > 0);
  if (shown.length === 0) return ['There are no jobs.'];
  const row = (name: Piece, counts: Partial<Record<State, number>>): Piece[] => [
    name,
    ...shown.map((state) => (counts[state] ? String(counts[state]) : '-')),
  ];
  const rows = Object.entries(targets)
    .toSorted(([one], [other]) => one.localeCompare(other))
    .map(([target, counts]) => row(target, counts));
  const heads = [{ head: 'target', gives: true }, ...shown.map((head) => ({ head, right: true }))];
  return table(heads, [...rows, row(styled('bold', 'all'), states)], columns);
}

/** `3 queued, 1 running`: what there is, in one line. */
export function countLine({ states }: Stats): Piece[] {
  const shown = STATES.filter((state) => (states[state] ?? 0) > 0);
  if (shown.length === 0) return ['no jobs'];
  return shown.flatMap((state, index): Piece[] => [
    index === 0 ? '' : ', ',
    stateText(state, `${states[state].toLocaleString('en')} ${state}`),
  ]);
}
