/** How a run stands, in colour. */

import type { Run, RunStatus } from '../../client/index.ts';
import { type Piece, type Style, styled } from './line.ts';

const STYLES: Readonly<Record<RunStatus, Style>> = {
  pending: 'cyan',
  awaiting_approval: 'yellow',
  running: 'blue',
  ok: 'green',
  error: 'red',
  timeout: 'red',
  crashed: ['red', 'bold'],
  cancelled: 'gray',
  skipped: 'gray',
};

export const RUN_STATUSES = Object.keys(STYLES) as readonly RunStatus[];

export function statusText(status: RunStatus | null): Piece {
  return status === null ? '-' : styled(STYLES[status] ?? 'reset', status);
}

const ENDED: readonly RunStatus[] = ['ok', 'error', 'timeout', 'crashed', 'cancelled', 'skipped'];

export function runHasEnded({ status }: Pick<Run, 'status'>): boolean {
  return ENDED.includes(status);
}
