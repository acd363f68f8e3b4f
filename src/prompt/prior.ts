/** What earlier runs of the same schedule came to. */

import { quoted } from './quote.ts';

export interface PriorRun {
  readonly finishedAt: number;
  readonly summary: string;
}

export function priorBlock(runs: readonly PriorRun[], nonce: string): string | null {
  if (runs.length === 0) return null;
  const lines = runs.map(({ finishedAt, summary }) => `[${minuteOf(finishedAt)}]\n${quoted(summary, nonce)}`);
  return ['--- Prior Run Context ---', ...lines, '--- End Prior Run Context ---'].join('\n');
}

function minuteOf(at: number): string {
  return new Date(at).toISOString().slice(0, 16).replace('T', ' ');
}
