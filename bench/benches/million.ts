import type { Bench, Size } from '../bench.ts';

/** Within 1.5 times the time, and as a goal within 1.2 times. */
const ALLOWED = 1 / 1.5;
const GOAL = 0.83;

export function million(size: Size): Bench {
  const entrant = (name: string, queued: number) => ({
    name,
    phase: { phase: 'backlog', queued, jobs: size.jobs(20_000) } as const,
  });
  const queued = size.jobs(1_000_000);
  const many = `${queued.toLocaleString('en-US')} queued`;
  return {
    name: 'million',
    title: 'SQLite: what a long queue costs each verb, 50 calls in flight',
    store: 'sqlite',
    entrants: [entrant(many, queued), entrant('empty', 0)],
    bars: ['enqueue', 'claim', 'complete'].map((measure) => ({
      ours: many,
      theirs: 'empty',
      measure,
      atLeast: ALLOWED,
      goal: GOAL,
    })),
  };
}
