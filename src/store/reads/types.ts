/** The types of jobs, in the order of their names. */

import type { JobType } from '../../domain/job-type.ts';
import type { Sql } from '../sql/driver.ts';
import { first } from '../sql/rows.ts';
import { TYPE } from '../sql/tables.ts';

export async function all(sql: Sql): Promise<JobType[]> {
  const rows = await sql.all(`select ${TYPE.selected} from job_type order by name`, []);
  return rows.map((row) => TYPE.from(row));
}

/** What is there under which name, without what may be long. */
export async function names(sql: Sql): Promise<Pick<JobType, 'name' | 'declared' | 'active'>[]> {
  const rows = await sql.all('select name, declared, active from job_type order by name', []);
  return rows.map(([name, declared, active]) => ({
    name: name as string,
    declared: Number(declared) === 1,
    active: Number(active) === 1,
  }));
}

export async function named(sql: Sql, name: string): Promise<JobType | null> {
  const row = await first(sql, `select ${TYPE.selected} from job_type where name = $1`, [name]);
  return row && TYPE.from(row);
}

export async function after(sql: Sql, name: string, limit: number): Promise<JobType[]> {
  const text = `select ${TYPE.selected} from job_type where name > $1 order by name limit $2 + 0`;
  return (await sql.all(text, [name, limit])).map((row) => TYPE.from(row));
}
