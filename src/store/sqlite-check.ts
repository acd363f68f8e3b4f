/** The database's own check, and whether what is kept twice says the same. Reads only, beside a running server. */

import { DatabaseSync } from 'node:sqlite';
import { migrateSqlite, schemaProblem } from './migrate.ts';
import { SqliteConnection } from './sqlite-connection.ts';

/** More of them say nothing new. */
const SHOWN = 10;
const SHOWN_CHARS = 200;

/** Each answers rows that should not be there, with what they are called. One snapshot sees all of them. */
const CHECKS: readonly { readonly what: string; readonly text: string }[] = [
  {
    what: 'the counters say another number of jobs than there are',
    text: `select target || ' ' || state from (
        select target, state, sum(n) as n from counter group by target, state having sum(n) <> 0
        except select target, state, count(*) from job group by target, state)
      union select target || ' ' || state from (
        select target, state, count(*) as n from job group by target, state
        except select target, state, sum(n) from counter group by target, state)`,
  },
  {
    what: 'jobs have no input or another id in it',
    text: `select job.no from job left join job_input input on input.job_no = job.no where input.id is not job.id`,
  },
  {
    what: 'rows belong to jobs that are not there',
    text: ['job_input', 'job_result', 'job_tag', 'comment', 'job_log', 'dependency']
      .map(
        (table) =>
          `select '${table} of ' || job_no from ${table} where not exists (select 1 from job where job.no = ${table}.job_no)`,
      )
      .join(' union all '),
  },
  {
    what: 'jobs have a number of comments that is not theirs',
    text: 'select no from job where comments <> (select count(*) from comment where job_no = job.no)',
  },
  {
    what: 'the search index lacks jobs, or has others',
    text: `select job_no from job_input where (title is not null or description is not null)
        and job_no not in (select id from job_text_docsize)
      union select id from job_text_docsize where id not in (
        select job_no from job_input where title is not null or description is not null)`,
  },
  {
    what: 'inputs or results are no JSON any more',
    text: `select job_no from job_input where not (json_valid(coalesce(spec, '0')) and json_valid(coalesce(meta, '0'))
        and json_valid(coalesce(params, '0')) and json_valid(coalesce(tags, '0')))
      union select job_no from job_result
        where not (json_valid(coalesce(result, '0')) and json_valid(coalesce(error, '0')))`,
  },
];

export interface SqliteHealth {
  /** What SQLite says about its file, one line each. */
  readonly file: readonly string[];
  /** What does not agree with each other. */
  readonly rows: readonly string[];
  readonly jobs: number;
}

export function checkSqlite(file: string): SqliteHealth {
  const database = new DatabaseSync(file, { readOnly: true, timeout: 5_000 });
  try {
    database.exec('pragma trusted_schema = off; begin');
    const damage = said(database, `pragma integrity_check(${SHOWN})`).filter((line) => line !== 'ok');
    const foreign = said(database, 'pragma foreign_key_check').slice(0, SHOWN);
    const rows =
      damage.length > 0 ? [] : CHECKS.flatMap(({ what, text }) => disagreement(database, what, text));
    const jobs = Number(said(database, 'select count(*) from job')[0]);
    return {
      file: [
        ...damage,
        ...schemaDamage(database),
        ...foreign.map((table) => `${table} refers to a row that is gone`),
      ],
      rows,
      jobs,
    };
  } catch (error) {
    return { file: [(error as Error).message], rows: [], jobs: 0 };
  } finally {
    database.close();
  }
}

/** What SQLite itself takes for whole: the word on which schema this is, and the schema's own text. */
function schemaDamage(database: DatabaseSync): string[] {
  const steps = database.prepare('select version, name, breaking, checksum from migration order by version');
  const problem = schemaProblem(steps.all().map((row) => Object.values(row)));
  if (problem !== null) return [problem];
  const connection = new SqliteConnection(':memory:');
  const fresh = connection.database;
  try {
    migrateSqlite(connection);
    const [made, found] = [schemaOf(fresh), schemaOf(database)];
    // A database that an older version made has yet to take the later steps.
    if (
      said(fresh, 'select count(*) from migration').join() !==
      said(database, 'select count(*) from migration').join()
    )
      return [];
    const other = [...new Set([...made, ...found])].filter((line) => made.has(line) !== found.has(line));
    return other
      .slice(0, SHOWN)
      .map((line) => `the schema is not as it was made: ${line.slice(0, SHOWN_CHARS)}`);
  } finally {
    fresh.close();
  }
}

function schemaOf(database: DatabaseSync): Set<string> {
  return new Set(
    said(
      database,
      "select type || ' ' || name || ' ' || tbl_name || ' ' || coalesce(sql, '') from sqlite_schema",
    ),
  );
}

function disagreement(database: DatabaseSync, what: string, text: string): string[] {
  const found = said(database, `${text} limit ${SHOWN + 1}`);
  if (found.length === 0) return [];
  const more = found.length > SHOWN ? ' and others' : '';
  return [`${what}: ${found.slice(0, SHOWN).join(', ')}${more}`];
}

function said(database: DatabaseSync, text: string): string[] {
  return database
    .prepare(text)
    .all()
    .map((row) => String(Object.values(row)[0]));
}
