import type { Attempt } from '../../client/index.ts';
import type { Handler } from '../command.ts';
import { type Piece, styled } from '../text/line.ts';
import { table } from '../text/table.ts';
import { duration } from '../text/times.ts';
import { jobRef } from './job-ref.ts';

const COLUMNS = [
  { head: 'attempt', right: true },
  { head: 'by', gives: true },
  { head: 'outcome' },
  { head: 'waited', right: true },
  { head: 'started' },
  { head: 'took', right: true },
] as const;

export const showAttempts: Handler = async (session, { args: [name = ''] }) => {
  const client = await session.client();
  const attempts = await client.jobs.attempts(await jobRef(client, name));
  session.out.result({
    value: { attempts },
    lines: () => {
      if (attempts.length > 0) return table(COLUMNS, attempts.map(cells), session.out.columns);
      session.out.info('Nobody has claimed it yet.');
      return [];
    },
  });
};

function cells({ attempt, by, outcome, queuedMs, startedAt, runMs }: Attempt): Piece[] {
  return [
    String(attempt),
    by,
    styled(STYLES[outcome], outcome),
    lengthOf(queuedMs),
    startedAt,
    lengthOf(runMs),
  ];
}

function lengthOf(ms: number | null): string {
  return ms === null ? '-' : duration(ms);
}

const STYLES = {
  running: 'blue',
  done: 'green',
  failed: 'red',
  released: 'yellow',
  expired: 'red',
  timeout: 'red',
  snoozed: 'cyan',
  asked: 'yellow',
  cancelled: 'gray',
  lost: 'red',
} as const;
