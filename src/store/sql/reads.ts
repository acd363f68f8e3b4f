/** Reads outside transactions: what people and loops look at. */

import type { DependencyOn } from '../../domain/command.ts';
import type { Job, State } from '../../domain/job.ts';
import type {
  Blob,
  Found,
  ListFilter,
  PauseKind,
  PoolUse,
  PrunableWindow,
  Reads,
  Routing,
  StoredLog,
} from '../store.ts';
import { detailsOf, outcomesOf, sizesOf, smallDetailsOf } from './details.ts';
import { byNumber, type KeyQuery, type Row, type Sql, type Value } from './driver.ts';
import { entries, feed, feedEnd } from './feed.ts';
import { eventsOf } from './history.ts';
import { JOB_COLUMNS, jobFrom } from './job-row.ts';
import { printedRows } from './printed-row.ts';
import { schedulingReads } from './scheduling.ts';
import { listed, windowOf } from './search.ts';
import { TYPE_COLUMNS, typeFrom } from './texts.ts';
import { AUDIT_COLUMNS, auditFrom, TOKEN_COLUMNS, tokenFrom } from './tokens.ts';

const byNo = byNumber(`select ${JOB_COLUMNS} from job`, 'no', 'order by no');

const edges =
  'select edge.job_no, edge.parent_no, edge.wanted, edge.met, parent.id from dependency edge join job parent on parent.no = edge.parent_no';
const dependencies = byNumber(edges, 'edge.job_no');

export function readsOver(sql: Sql): Reads {
  const column = async <T extends Value>(text: string, params: readonly Value[]): Promise<T[]> =>
    (await sql.all(text, params)).map((row) => row[0] as T);
  const first = async (text: string, params: readonly Value[]): Promise<Row | null> =>
    (await sql.all(text, params))[0] ?? null;
  const job = async (where: string, key: Value): Promise<Job | null> => {
    const row = await first(`select ${JOB_COLUMNS} from job where ${where}`, [key]);
    return row && jobFrom(row);
  };
  return {
    ...schedulingReads(sql),
    jobById: (id) => job('no = (select job_no from job_input where id = $1)', id),
    jobByNo: (no) => job('no = $1', no),
    jobsByNo: async (nos) => (await sql.byKeys(byNo, nos)).map(jobFrom),
    printedRows: (jobNos) => printedRows(sql, jobNos),
    details: (jobs) => detailsOf(sql, jobs),
    smallDetails: (jobs) => smallDetailsOf(sql, jobs),
    sizes: (jobs) => sizesOf(sql, jobs),
    outcomes: (jobNos) => outcomesOf(sql, jobNos),
    list: (filter) => list(sql, filter),
    search: (words, filter) => search(sql, words, filter),
    dependenciesOf: async (jobNos) =>
      (await sql.byKeys(dependencies, jobNos)).map((row) => ({
        jobNo: row[0] as number,
        parentNo: row[1] as number,
        on: row[2] as DependencyOn,
        met: row[3] === 1,
        parentId: row[4] as string,
      })),
    commentsOf: async (jobNo) =>
      (await sql.all('select at, author, body from comment where job_no = $1 order by seq', [jobNo])).map(
        (row) => ({
          at: row[0] as number,
          by: row[1] as string,
          text: row[2] as string,
        }),
      ),
    commentsAfter: async (jobNo, afterSeq, limit) =>
      (
        await sql.all(
          'select seq, at, author, body from comment where job_no = $1 and seq > $2 order by seq limit $3 + 0',
          [jobNo, afterSeq, limit],
        )
      ).map((row) => ({
        seq: row[0] as number,
        at: row[1] as number,
        by: row[2] as string,
        text: row[3] as string,
      })),
    eventsOf: (jobNo, afterSeq, limit) => eventsOf(sql, jobNo, afterSeq, limit),
    logsOf: async (jobNo, afterNo, limit) =>
      (
        await sql.all(
          'select no, attempt, at, level, body from job_log where job_no = $1 and no > $2 order by no limit $3 + 0',
          [jobNo, afterNo, limit],
        )
      ).map(logFrom),
    entries: (after, limit) => entries(sql, after, limit),
    feed: (after, limit) => feed(sql, after, limit),
    feedEnd: () => feedEnd(sql),
    counts: async () =>
      (
        await sql.all(
          'select target, state, sum(n) from counter group by target, state having sum(n) <> 0 order by target, state',
          [],
        )
      ).map((row) => ({ target: row[0] as string, state: row[1] as State, n: Number(row[2]) })),

    expiredLeases: (now, limit) =>
      column<string>(
        "select id from job where state = 'running' and lease_until <= $1 order by lease_until limit $2 + 0",
        [now, limit],
      ),
    longestLapsedLeaseMs: async (now) => {
      const text = `select coalesce(max(coalesce(lease_span_ms, lease_ms)), 0) from job
        where state = 'running' and lease_until <= $1`;
      return (await first(text, [now]))?.[0] as number;
    },
    timedOut: (now, limit) =>
      column<string>(
        "select id from job where state = 'running' and timeout_at is not null and timeout_at <= $1 order by timeout_at limit $2 + 0",
        [now, limit],
      ),
    due: (now, limit) =>
      column<string>(
        "select id from job where state = 'scheduled' and run_at <= $1 order by run_at limit $2 + 0",
        [now, limit],
      ),
    nextDueAt: async () => {
      const text = `select least_at from (
          select min(run_at) as least_at from job where state = 'scheduled'
          union all select min(timeout_at) from job where state = 'running' and timeout_at is not null
        ) as moments where least_at is not null order by least_at limit 1`;
      const row = await first(text, []);
      return row === null ? null : (row[0] as number);
    },
    unsettled: (limit) =>
      column<number>('select no from job where settled = 1 order by no limit $1 + 0', [limit]),
    poolsWithRoomAndWaiters: (limit) =>
      column<string>(
        `select distinct slot.pool from slot where slot.job_no is null
         and exists (select 1 from job where job.blocked_on = slot.pool) limit $1 + 0`,
        [limit],
      ),
    prunable: (state, before, afterNo, limit) => prunable(sql, state, before, afterNo, limit),

    routing: () => routing(sql),
    tokens: async () =>
      (await sql.all(`select ${TOKEN_COLUMNS} from token order by created_at, id`, [])).map(tokenFrom),
    tokenRevision: async () =>
      (await first("select value from revision where name = 'tokens'", []))?.[0] as number,
    audit: async (beforeNo, limit) =>
      (
        await sql.all(`select ${AUDIT_COLUMNS} from audit where no < $1 order by no desc limit $2 + 0`, [
          beforeNo ?? Number.MAX_SAFE_INTEGER,
          limit,
        ])
      ).map(auditFrom),
    types: async () =>
      (await sql.all(`select ${TYPE_COLUMNS} from job_type order by name`, [])).map(typeFrom),
    typesAfter: async (name, limit) =>
      (
        await sql.all(`select ${TYPE_COLUMNS} from job_type where name > $1 order by name limit $2 + 0`, [
          name,
          limit,
        ])
      ).map(typeFrom),
    pools: () => pools(sql),
    aliveAt: async (name) =>
      ((await first('select beat_at from alive where name = $1', [name]))?.[0] ?? null) as number | null,
    meta: async (name) =>
      ((await first('select value from meta where name = $1', [name]))?.[0] ?? null) as string | null,
    outboxSize: async () => (await first('select count(*) from outbox', []))?.[0] as number,
    blob: async (id) => {
      const row = await first(`select ${BLOB_COLUMNS} from blob where id = $1`, [id]);
      return row && blobFrom(row);
    },
    blobsOf: async (jobNo, afterId, limit) => {
      const after = '(created_at, id) > (select created_at, id from blob where id = $3)';
      const text = `select ${BLOB_COLUMNS} from blob where job_no = $1${afterId === null ? '' : ` and ${after}`}
        order by created_at, id limit $2 + 0`;
      return (await sql.all(text, [jobNo, limit, ...(afterId === null ? [] : [afterId])])).map(blobFrom);
    },
    blobsAfter: async (id, limit) =>
      (
        await sql.all(`select ${BLOB_COLUMNS} from blob where id > $1 order by id limit $2 + 0`, [id, limit])
      ).map(blobFrom),
    knownBlobs: async (ids) => new Set((await sql.byKeys(KNOWN_BLOBS, ids)).map((row) => row[0] as string)),
  };
}

const KNOWN_BLOBS: KeyQuery = {
  one: 'select id from blob where id = $1',
  many: 'select id from blob where id = any($1::text[])',
  listed: 'select id from blob where id in (select value from json_each($1))',
};

/** Each state is read along job_by_state and the pages are merged, so that old jobs never slow the new. */
async function list(sql: Sql, filter: ListFilter): Promise<Job[]> {
  if (filter.targets?.length === 0 || filter.states.length === 0) return [];
  const newest = filter.order === 'newest';
  const params: Value[] = [];
  const put: Put = (value) => `$${params.push(value)}`;
  // One statement sees one moment: a job that changes its state meanwhile is on the page once.
  const pages = filter.states.map(
    (state, i) => `select * from (${page(sql, filter, state, newest, put)}) as page${i}`,
  );
  const text = `${pages.join(' union all ')} order by no ${newest ? 'desc' : 'asc'} limit ${put(filter.limit)}`;
  return (await sql.all(text, params)).map(jobFrom);
}

type Put = (value: Value) => string;

/** A window of the jobs with the words, and of those the ones that fit the rest. */
async function search(sql: Sql, words: string, filter: ListFilter): Promise<Found> {
  if (filter.targets?.length === 0 || filter.states.length === 0) return { jobs: [], next: null };
  const newest = filter.order === 'newest';
  const { nos, lastNo } = await windowOf(sql, words, { newest, from: filter.from });
  if (nos.length === 0) return { jobs: [], next: null };
  const params: Value[] = [];
  const put: Put = (value) => `$${params.push(value)}`;
  const where = [
    `no in ${listed(sql)(put(JSON.stringify(nos)))}`,
    `state in (${filter.states.map(put).join(', ')})`,
    ...further(filter, put),
  ];
  const order = `order by no ${newest ? 'desc' : 'asc'}`;
  // Numbers are put in order first: whole rows would be carried along.
  const fitting = `select no from job where ${where.join(' and ')} ${order} limit ${put(filter.limit)}`;
  const text = `select ${JOB_COLUMNS} from job where no in (${fitting}) ${order}`;
  const jobs = (await sql.all(text, params)).map(jobFrom);
  const last = jobs.length === filter.limit ? jobs.at(-1)?.no : undefined;
  return { jobs, next: last ?? lastNo };
}

/** What is asked for besides the state. */
function further(filter: ListFilter, put: Put): string[] {
  const where: string[] = [];
  if (filter.targets !== null) where.push(`target in (${filter.targets.map(put).join(', ')})`);
  if (filter.retries) where.push('retry_count > 0');
  if (filter.typeNo !== null) where.push(`type_no = ${put(filter.typeNo)}`);
  if (filter.tag !== null)
    where.push(
      `exists (select 1 from job_tag where job_tag.tag = ${put(filter.tag)} and job_tag.job_no = job.no)`,
    );
  return where;
}

function page(sql: Sql, filter: ListFilter, state: State, newest: boolean, put: Put): string {
  const from = filter.from === null ? null : put(filter.from);
  const where = [
    state === 'running' ? whileRunning(newest, from) : place(sql, put(state), newest, from),
    ...further(filter, put),
  ];
  const direction = newest ? 'desc' : 'asc';
  const order = state === 'running' ? `no + 0 ${direction}` : `state ${direction}, no ${direction}`;
  return `select ${JOB_COLUMNS} from job where ${where.join(' and ')} order by ${order} limit ${put(filter.limit)}`;
}

/** Those who run are few, and found by job_lease. The sum keeps the databases from walking along all numbers instead. */
function whileRunning(newest: boolean, from: string | null): string {
  return `state = 'running'${from === null ? '' : ` and no + 0 ${newest ? '<' : '>'} ${from}`}`;
}

/**
 * One state, from a job on. PostgreSQL must not see that the state is one value: it would then expect its rows
 * everywhere and walk along all numbers, over a million finished jobs, to find the first queued one.
 */
function place(sql: Sql, state: string, newest: boolean, from: string | null): string {
  const after = newest ? '<' : '>';
  // Said in so many words: only then do the databases see that job_by_state has all of these rows.
  const listed = "state <> 'running'";
  if (sql.dialect === 'sqlite')
    return `state = ${state} and ${listed}${from === null ? '' : ` and no ${after} ${from}`}`;
  const start = from ?? (newest ? Number.MAX_SAFE_INTEGER : 0);
  return `(state, no) ${after} (${state}, ${start}) and state ${newest ? '>=' : '<='} ${state} and ${listed}`;
}

// The cross joins hold SQLite to this order, and the offset PostgreSQL: they would read every event and sort them.
function logFrom(row: Row): StoredLog {
  return {
    no: row[0] as number,
    attempt: row[1] as number,
    at: row[2] as number,
    level: row[3] as StoredLog['level'],
    text: row[4] as string,
  };
}

/** A bounded look along job_by_state. Numbers rise with creation, so the first young row ends the search. */
async function prunable(
  sql: Sql,
  state: State,
  before: number,
  afterNo: number,
  limit: number,
): Promise<PrunableWindow> {
  const text = `
    select no, id, created_at, case when finished_at < $3 and settled = 2
      and not exists (select 1 from job child where child.parent_no = job.no)
      and not exists (select 1 from job later where later.retry_of = job.no)
      and not exists (select 1 from job later where later.root_no = job.no)
      and not exists (select 1 from dependency where dependency.parent_no = job.no)
      and no < (select max(no) from job) then 1 else 0 end
    from job where state = $1 and state <> 'running' and no > $2 order by no limit $4 + 0`;
  const rows = await sql.all(text, [state, afterNo, before, limit]);
  const old = rows.filter((row) => (row[2] as number) < before);
  const jobs = old
    .filter((row) => row[3] === 1)
    .map((row) => ({ no: row[0] as number, id: row[1] as string }));
  const reachedYoung = old.length < rows.length || rows.length < limit;
  return { jobs, nextNo: reachedYoung ? null : ((rows.at(-1)?.[0] ?? null) as number | null) };
}

async function routing(sql: Sql): Promise<Routing> {
  // The revision is read first: if a pause slips in between, the next claim sees an old revision and reads again.
  const [revision] = await sql.all("select value from revision where name = 'routing'", []);
  const rows = await sql.all(
    'select kind, name, at, actor, (select no from job_type where job_type.name = pause.name) from pause',
    [],
  );
  const sizes = await sql.all(
    `select no, coalesce(octet_length(sop), 0) + coalesce(octet_length(params_schema), 0) from job_type
     where sop is not null or params_schema is not null`,
    [],
  );
  const pauses = rows.map((row) => ({
    kind: row[0] as PauseKind,
    name: row[1] as string,
    at: row[2] as number,
    by: row[3] as string,
  }));
  return {
    revision: revision?.[0] as number,
    pausedTargets: new Set(pauses.filter((pause) => pause.kind === 'target').map((pause) => pause.name)),
    pausedTypes: new Set(
      rows.filter((row) => row[0] === 'type' && row[4] !== null).map((row) => row[4] as number),
    ),
    typeBytes: new Map(sizes.map((row) => [row[0] as number, row[1] as number])),
    pauses,
  };
}

async function pools(sql: Sql): Promise<PoolUse[]> {
  const text = `
    select name, capacity, per_key,
      (select count(*) from slot where slot.pool = pool.name and slot.job_no is not null),
      (select count(*) from job where job.blocked_on = pool.name)
    from pool order by name`;
  return (await sql.all(text, [])).map((row) => ({
    name: row[0] as string,
    capacity: row[1] as number,
    perKey: row[2] as number,
    running: row[3] as number,
    waiting: row[4] as number,
  }));
}

const BLOB_COLUMNS = 'id, filename, size, sha256, content_type, job_no, created_at, created_by';

function blobFrom(row: Row): Blob {
  return {
    id: row[0] as string,
    filename: row[1] as string,
    size: row[2] as number,
    sha256: row[3] as string,
    contentType: row[4] as string,
    jobNo: row[5] as number | null,
    createdAt: row[6] as number,
    createdBy: row[7] as string,
  };
}
