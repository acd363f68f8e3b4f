/** The records of artifacts. */

import type { Blob } from '../../domain/blob.ts';
import type { KeyQuery, Sql } from '../sql/driver.ts';
import { first } from '../sql/rows.ts';
import { BLOB } from '../sql/tables.ts';

const SELECT = `select ${BLOB.selected} from blob`;

export async function byId(sql: Sql, id: string): Promise<Blob | null> {
  const row = await first(sql, `${SELECT} where id = $1`, [id]);
  return row && BLOB.from(row);
}

/** In the order of their making, from the one behind `afterId` on. */
export async function ofJob(sql: Sql, jobNo: number, afterId: string | null, limit: number): Promise<Blob[]> {
  const behind = '(created_at, id) > (select created_at, id from blob where id = $3)';
  const text = `${SELECT} where job_no = $1${afterId === null ? '' : ` and ${behind}`}
    order by created_at, id limit $2 + 0`;
  const rows = await sql.all(text, [jobNo, limit, ...(afterId === null ? [] : [afterId])]);
  return rows.map((row) => BLOB.from(row));
}

/** A page in the order of their ids. */
export async function after(sql: Sql, id: string, limit: number): Promise<Blob[]> {
  const rows = await sql.all(`${SELECT} where id > $1 order by id limit $2 + 0`, [id, limit]);
  return rows.map((row) => BLOB.from(row));
}

const KNOWN: KeyQuery = {
  one: 'select id from blob where id = $1',
  many: 'select id from blob where id = any($1::text[])',
  listed: 'select id from blob where id in (select value from json_each($1))',
};

/** Which of these ids have a record. */
export async function known(sql: Sql, ids: readonly string[]): Promise<ReadonlySet<string>> {
  return new Set((await sql.byKeys(KNOWN, ids)).map(([id]) => id as string));
}
