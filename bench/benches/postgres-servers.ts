import type { Bench, Size } from '../bench.ts';

export function postgresServers(size: Size): Bench {
  const entrant = (name: string, servers: number) => ({
    name,
    phase: { phase: 'servers', servers, jobs: size.jobs(160_000) } as const,
  });
  return {
    name: 'postgres-servers',
    title: 'PostgreSQL: four server processes drain one database, nothing done twice',
    store: 'postgres',
    entrants: [entrant('1 server', 1), entrant('4 servers', 4)],
    bars: [{ ours: '4 servers', theirs: '1 server', measure: 'drain', atLeast: 0.9, goal: 1 }],
  };
}
