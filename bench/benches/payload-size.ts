import type { Bench, Size } from '../bench.ts';

const SMALL = 202;
const LARGE = 20_000;
/** Within 1.5 times the time. */
const ALLOWED = 1 / 1.5;

export function payloadSize(size: Size, store: Bench['store']): Bench {
  const entrant = (name: string, bytes: number) => ({
    name,
    phase: { phase: 'payload', bytes, jobs: size.jobs(8_000) } as const,
  });
  return {
    name: `payload-${store}`,
    title: `${store === 'sqlite' ? 'SQLite' : 'PostgreSQL'}: what a 20 KB input costs each verb, 50 calls in flight`,
    store,
    entrants: [entrant('20 KB', LARGE), entrant('202 bytes', SMALL)],
    bars: ['create', 'claim', 'heartbeat', 'complete'].map((measure) => ({
      ours: '20 KB',
      theirs: '202 bytes',
      measure,
      // A larger input has to be written and read once; after that it must not be in the way.
      atLeast: measure === 'heartbeat' || measure === 'complete' ? ALLOWED : 0,
    })),
  };
}
