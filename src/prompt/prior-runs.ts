/** What earlier runs of the same schedule said, so that an agent goes on where it left off. */

import type { PriorRun } from '../domain/run.ts';
import { quoted } from './quote.ts';

export type ToldRun = Pick<PriorRun, 'at' | 'summary'>;

/** In the order in which they are given: the newest first, or what fits best. */
export function priorRunsBlock(runs: readonly ToldRun[], nonce: string): string | null {
  if (runs.length === 0) return null;
  const lines = runs.map(({ at, summary }) => `[${minuteOf(at)}] ${summary}`);
  return ['--- Prior Run Context ---', quoted(lines.join('\n'), nonce), '--- End Prior Run Context ---'].join(
    '\n',
  );
}

/** YYYY-MM-DD HH:MM in UTC. */
function minuteOf(at: number): string {
  return new Date(at).toISOString().slice(0, 16).replace('T', ' ');
}
