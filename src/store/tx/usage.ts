/** What jobs took in tokens and money: of each attempt, and of each type by the quarter of an hour. */

import type { Usage } from '../../domain/usage.ts';
import type { Shape, Sql } from '../sql/driver.ts';

const AMOUNTS = [
  ['input_tokens', 'bigint'],
  ['output_tokens', 'bigint'],
  ['total_tokens', 'bigint'],
  ['cost_micros', 'bigint'],
] as const;

const ATTEMPT: Shape = {
  table: 'job_usage',
  columns: [['job_no', 'bigint'], ['fence', 'bigint'], ['type_no', 'bigint'], ['at', 'bigint'], ...AMOUNTS],
  onConflict: `on conflict (job_no, fence) do update set at = excluded.at, ${AMOUNTS.map(([name]) => `${name} = excluded.${name}`).join(', ')}`,
};

const SPENDING: Shape = {
  table: 'spending',
  columns: [['at', 'bigint'], ['type_no', 'bigint'], ['lane', 'text'], ['reports', 'bigint'], ...AMOUNTS],
  onConflict: `on conflict (at, type_no, lane) do update set reports = spending.reports + excluded.reports, ${AMOUNTS.map(([name]) => `${name} = spending.${name} + excluded.${name}`).join(', ')}`,
};

export interface AttemptUsage {
  readonly jobNo: number;
  /** Which of the job's claims it was. */
  readonly fence: number;
  readonly typeNo: number;
  readonly at: number;
  readonly usage: Usage;
}

export function save(sql: Sql, attempts: readonly AttemptUsage[]) {
  return sql.insert(
    ATTEMPT,
    attempts.map(({ jobNo, fence, typeNo, at, usage }) => [jobNo, fence, typeNo, at, ...amounts(usage)]),
  );
}

/** What was told of earlier claims of a job is in the sums, and goes. */
export function dropEarlier(sql: Sql, jobNo: number, before: number) {
  return sql.run('delete from job_usage where job_no = $1 and fence < $2', [jobNo, before]);
}

export function spend(
  sql: Sql,
  lane: string,
  at: number,
  sums: readonly { readonly typeNo: number; readonly reports: number; readonly usage: Usage }[],
) {
  return sql.insert(
    SPENDING,
    sums.map(({ typeNo, reports, usage }) => [at, typeNo, lane, reports, ...amounts(usage)]),
  );
}

export function dropOld(sql: Sql, before: number) {
  return sql.run('delete from spending where at < $1', [before]);
}

function amounts({ inputTokens, outputTokens, totalTokens, costMicros }: Usage): number[] {
  return [inputTokens, outputTokens, totalTokens, costMicros];
}
