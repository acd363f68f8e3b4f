import type { Bench, Size } from '../bench.ts';

export function latency(size: Size): Bench {
  const entrant = (name: string, store: Bench['store'], servers: 1 | 2) => ({
    name,
    phase: { phase: 'latency', store, servers, samples: size.jobs(200) } as const,
  });
  const sqlite = 'SQLite';
  const postgres = 'PostgreSQL, two servers';
  return {
    name: 'latency',
    title: 'HTTP: from POST /jobs to the answer of a waiting claim, idle servers',
    store: 'postgres',
    unit: 'ms',
    entrants: [entrant(sqlite, 'sqlite', 1), entrant(postgres, 'postgres', 2)],
    bars: [],
    limits: [
      { entrant: sqlite, measure: 'p50', below: 2 },
      { entrant: sqlite, measure: 'p99', below: 10 },
      { entrant: postgres, measure: 'p99', below: 15 },
    ],
  };
}
