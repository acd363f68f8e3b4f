/** What jobs took in tokens and money. */

import type { Usage } from '../../domain/usage.ts';
import type { Row, Sql } from '../sql/driver.ts';

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

const COLUMNS = 'job_no, fence, at, input_tokens, output_tokens, total_tokens, cost_micros';

interface ClaimUsage {
  readonly jobNo: number;
  readonly fence: number;
  readonly at: number;
  readonly usage: Usage;
}

/** What these claims told of it so far. */
export async function known(
  sql: Sql,
  claims: readonly { readonly jobNo: number; readonly fence: number }[],
): Promise<ClaimUsage[]> {
  if (sql.dialect === 'postgres') {
    const text = `select ${COLUMNS} from job_usage join json_array_elements($1::json) as asked
      on job_no = (asked ->> 0)::bigint and fence = (asked ->> 1)::bigint`;
    const pairs = JSON.stringify(claims.map(({ jobNo, fence }) => [jobNo, fence]));
    return (await sql.all(text, [pairs])).map(claimFrom);
  }
  const rows: Row[] = [];
  for (const { jobNo, fence } of claims)
    rows.push(
      ...(await sql.all(`select ${COLUMNS} from job_usage where job_no = $1 and fence = $2`, [jobNo, fence])),
    );
  return rows.map(claimFrom);
}

/** Of the last claims of a job that told of it, the oldest first. */
export async function ofJob(sql: Sql, jobNo: number, limit: number): Promise<ClaimUsage[]> {
  const text = `select ${COLUMNS} from job_usage where job_no = $1 order by fence desc limit $2`;
  return (await sql.all(text, [jobNo, limit])).map(claimFrom).toReversed();
}

function claimFrom(row: Row): ClaimUsage {
  return {
    jobNo: row[0] as number,
    fence: row[1] as number,
    at: row[2] as number,
    usage: usageFrom(row.slice(3)),
  };
}

function usageFrom(row: Row): Usage {
  const [inputTokens = 0, outputTokens = 0, totalTokens = 0, costMicros = 0] = row.map(Number);
  return { inputTokens, outputTokens, totalTokens, costMicros };
}
