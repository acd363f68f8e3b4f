/** The states of a job in colour. */

import type { State } from '../../client/index.ts';
import { type Style, type Styled, styled } from './line.ts';

const STYLES: Readonly<Record<State, Style>> = {
  scheduled: 'cyan',
  blocked: 'yellow',
  awaiting_approval: 'yellow',
  queued: 'cyan',
  running: 'blue',
  done: 'green',
  failed: 'red',
  dead: ['red', 'bold'],
  cancelled: 'gray',
  skipped: 'gray',
};

/** The order in which people look for them. */
export const STATES = Object.keys(STYLES) as readonly State[];

export function stateText(state: State, text: string = state): Styled {
  return styled(STYLES[state] ?? 'reset', text);
}

const ENDED: readonly State[] = ['done', 'failed', 'dead', 'cancelled', 'skipped'];

export function hasEnded(state: State): boolean {
  return ENDED.includes(state);
}
