/** What jobs took in tokens and money. */

import type { Usage } from '../../domain/usage.ts';
import { byNumber, type Row, type Sql } from '../sql/driver.ts';

const SUMS = 'sum(input_tokens), sum(output_tokens), sum(total_tokens), sum(cost_micros)';

export interface TypeUsage {
  readonly typeNo: number;
  /** How many attempts told of it. */
  readonly reports: number;
  readonly usage: Usage;
}

/** By type, from the one moment on, before the other. Served by the primary key. */
export async function between(sql: Sql, from: number, before: number): Promise<TypeUsage[]> {
  const text = `select type_no, sum(reports), ${SUMS} from spending where at >= $1 and at < $2
    group by type_no order by type_no`;
  const rows = await sql.all(text, [from, before]);
  return rows.map((row) => ({
    typeNo: Number(row[0]),
    reports: Number(row[1]),
    usage: usageFrom(row.slice(2)),
  }));
}

const ofJobs = byNumber(
  'select job_no, fence, at, input_tokens, output_tokens, total_tokens, cost_micros from job_usage',
  'job_no',
  'order by fence',
);

/** Of each claim of these jobs that told of it. */
export async function known(
  sql: Sql,
  jobNos: readonly number[],
): Promise<{ jobNo: number; fence: number; at: number; usage: Usage }[]> {
  return (await sql.byKeys(ofJobs, jobNos)).map((row) => ({
    jobNo: row[0] as number,
    fence: row[1] as number,
    at: row[2] as number,
    usage: usageFrom(row.slice(3)),
  }));
}

function usageFrom(row: Row): Usage {
  const [inputTokens = 0, outputTokens = 0, totalTokens = 0, costMicros = 0] = row.map(Number);
  return { inputTokens, outputTokens, totalTokens, costMicros };
}
