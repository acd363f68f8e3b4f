import type { Bench, Size } from '../bench.ts';

export function memory(size: Size): Bench {
  const jobs = size.jobs(1_000_000);
  const server = `server, ${jobs.toLocaleString('en-US')} jobs`;
  return {
    name: 'memory',
    title: 'HTTP on SQLite: resident memory of the server, at rest and by how much more with a long queue',
    store: 'sqlite',
    unit: 'MB',
    entrants: [{ name: server, phase: { phase: 'memory', jobs } }],
    bars: [],
    limits: [
      { entrant: server, measure: 'idle', below: 150, goal: 100 },
      { entrant: server, measure: 'growth', below: 100, goal: 50 },
    ],
  };
}
