import type { Bench, Size } from '../bench.ts';

export function files(size: Size): Bench {
  const entrant = (name: string, setting: 'on' | 'off') => ({
    name,
    phase: { phase: 'lifecycle', files: setting, width: 32, ms: size.ms(8_000) } as const,
  });
  return {
    name: 'files',
    title: 'HTTP on SQLite: create, claim and complete at 32 connections, with readable files and without',
    store: 'sqlite',
    entrants: [entrant('files on', 'on'), entrant('files off', 'off')],
    bars: [{ ours: 'files on', theirs: 'files off', measure: 'jobs', atLeast: 0.75, goal: 0.9 }],
  };
}
