import { DatabaseSync } from 'node:sqlite';
import { Client } from 'pg';

/** Where the rows go: the file of a SQLite server that is not running, or a PostgreSQL database. */
export type PrefillTarget = { readonly file: string } | { readonly databaseUrl: string };

/** Direct access to a store's tables, with the few words in which the two dialects differ. */
export interface DirectSql extends AsyncDisposable {
  run(sql: string): Promise<void>;
  number(sql: string): Promise<number>;
  text(sql: string): Promise<string>;
  columns(table: string): Promise<readonly string[]>;
  /** A table `n` whose column `i` counts from 1. */
  series(count: number): string;
  readonly newId: string;
  /** Makes the words of these jobs' titles searchable. */
  words(which: string): string;
  /** Statements for after the load: what the server's own writes would have kept up to date. */
  readonly afterwards: readonly string[];
}

export async function openSql(target: PrefillTarget): Promise<DirectSql> {
  return 'file' in target ? openSqlite(target.file) : openPostgres(target.databaseUrl);
}

function openSqlite(file: string): DirectSql {
  const db = new DatabaseSync(file);
  // A load that is cut short is thrown away, so nothing is gained by waiting for the disk.
  db.exec('pragma synchronous = off; pragma cache_size = -400000');
  return {
    run: async (sql) => db.exec(sql),
    number: async (sql) => Number(Object.values(db.prepare(sql).get() ?? {})[0] ?? 0),
    text: async (sql) => String(Object.values(db.prepare(sql).get() ?? {})[0] ?? ''),
    columns: async (table) =>
      db
        .prepare(`pragma table_info(${table})`)
        .all()
        .map((row) => String(row['name'])),
    series: (count) =>
      `(with recursive s(i) as (select 1 union all select i + 1 from s where i < ${count}) select i from s) as n`,
    newId: `lower(hex(randomblob(4)) || '-' || hex(randomblob(2)) || '-4' || substr(hex(randomblob(2)), 2)
      || '-8' || substr(hex(randomblob(2)), 2) || '-' || hex(randomblob(6)))`,
    words: (which) =>
      `insert into job_text (rowid, title, description) select job_no, title, '' from job_input where ${which}`,
    afterwards: ['pragma wal_checkpoint(truncate)'],
    [Symbol.asyncDispose]: async () => db.close(),
  };
}

async function openPostgres(databaseUrl: string): Promise<DirectSql> {
  const client = new Client({ connectionString: databaseUrl });
  await client.connect();
  return {
    run: async (sql) => void (await client.query(sql)),
    number: async (sql) => {
      const { rows } = await client.query<Record<string, unknown>>(sql);
      return Number(Object.values(rows[0] ?? {})[0] ?? 0);
    },
    text: async (sql) => {
      const { rows } = await client.query<Record<string, string>>(sql);
      return Object.values(rows[0] ?? {})[0] ?? '';
    },
    columns: async (table) => {
      const sql =
        'select column_name from information_schema.columns where table_schema = current_schema() and table_name = $1';
      const { rows } = await client.query<{ column_name: string }>(sql, [table]);
      return rows.map((row) => row.column_name);
    },
    series: (count) => `generate_series(1, ${count}) as n(i)`,
    newId: 'gen_random_uuid()::text',
    words: (which) =>
      `insert into job_text (job_no, words) select job_no, setweight(to_tsvector('simple', title), 'A')
       from job_input where ${which}`,
    afterwards: [
      "select setval(pg_get_serial_sequence('job', 'no'), (select max(no) from job))",
      "select setval(pg_get_serial_sequence('feed_commit', 'no'), (select max(no) from feed_commit))",
      "select setval('feed_pos', (select coalesce(max(pos), 1) from feed_commit))",
      'vacuum analyze',
    ],
    [Symbol.asyncDispose]: () => client.end(),
  };
}
