import type { Bench, Size } from '../bench.ts';

export function watching(size: Size): Bench {
  const entrant = (name: string, env: Readonly<Record<string, string>>) => ({
    name,
    phase: { phase: 'lifecycle', files: 'off', env, width: 32, ms: size.ms(8_000) } as const,
  });
  const on = { SPINE_LOG_LEVEL: 'info', SPINE_METRICS: 'true' };
  const off = { SPINE_LOG_LEVEL: 'silent', SPINE_METRICS: 'false' };
  return {
    name: 'watching',
    title:
      'HTTP on SQLite: create, claim and complete at 32 connections, with logs at info and metrics, and without',
    store: 'sqlite',
    entrants: [entrant('logs and metrics on', on), entrant('logs and metrics off', off)],
    bars: [
      {
        ours: 'logs and metrics on',
        theirs: 'logs and metrics off',
        measure: 'jobs',
        atLeast: 0.95,
        goal: 0.98,
      },
    ],
  };
}
