import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JobEvent } from '../../src/domain/event.ts';
import type { Job } from '../../src/domain/job.ts';
import { migrateSqlite } from '../../src/store/migrate.ts';
import { ofJob } from '../../src/store/reads/feed.ts';
import { SqliteConnection } from '../../src/store/sqlite-connection.ts';
import { add, insertRaw } from '../../src/store/tx/feed.ts';
import { insert, update } from '../../src/store/tx/jobs.ts';
import { row } from '../conformance/rows.ts';

test('the commits of a job are named in its row, and move out of it together', async () => {
  const { sql, no } = await withJob();
  for (let seq = 2; seq < 32; seq++) await happen(sql, heartbeat(no, seq));
  assert.deepEqual(noted(sql), { inRow: 31, beside: 0 });
  await happen(sql, heartbeat(no, 32));
  assert.deepEqual(noted(sql), { inRow: 1, beside: 31 });
  for (let seq = 33; seq <= 70; seq++) await happen(sql, heartbeat(no, seq));
  assert.deepEqual(noted(sql), { inRow: 7, beside: 63 });
  assert.deepEqual(await seqs(sql, no, 0, 100), range(1, 70));
  assert.deepEqual(await seqs(sql, no, 31, 10), range(32, 41));
  assert.deepEqual(await seqs(sql, no, 69, 10), [70]);
});

test('events are told once whose commit is named twice', async () => {
  const { sql, no } = await withJob();
  for (let seq = 2; seq < 32; seq++) await happen(sql, heartbeat(no, seq));
  const [before] = sql.all('select commits from job', []);
  await happen(sql, heartbeat(no, 32));
  sql.run('update job set commits = $1 || commits', [before?.[0] ?? '']);
  assert.deepEqual(await seqs(sql, no, 0, 100), range(1, 32));
  assert.deepEqual(
    sql.all('select seq from event order by seq', []),
    range(1, 32).map((seq) => [seq]),
  );
});

test('events that were brought in from elsewhere are found like those that happened here', async () => {
  const { sql, no } = await withJob();
  await insertRaw(sql, [
    { ...heartbeat(no, 2), pos: 9, ordinal: 4 },
    { ...heartbeat(no, 3), pos: 9, ordinal: 5 },
  ]);
  await happen(sql, heartbeat(no, 4));
  assert.deepEqual(await seqs(sql, no, 0, 100), range(1, 4));
  assert.deepEqual(await seqs(sql, no, 1, 2), [2, 3]);
});

test('the name of a commit that tells nothing of the job does no harm', async () => {
  const { sql, no } = await withJob();
  const job: Job = { no, ...row().job, seq: 1 };
  await update(sql, [{ before: job, after: { ...job, watched: true }, kind: 'other' }]);
  await add(sql, [heartbeat(no + 1, 1)], 1);
  assert.deepEqual(await seqs(sql, no, 0, 100), [1]);
});

function heartbeat(jobNo: number, seq: number): JobEvent {
  return { jobNo, seq, at: seq, kind: 'job.heartbeat', by: 'w', facts: null };
}

async function withJob(): Promise<{ sql: SqliteConnection; no: number }> {
  const sql = new SqliteConnection(':memory:');
  migrateSqlite(sql);
  const [no = 0] = await insert(sql, [row()]);
  await add(sql, [{ ...heartbeat(no, 1), kind: 'job.created' }], 1);
  return { sql, no };
}

async function happen(sql: SqliteConnection, event: JobEvent): Promise<void> {
  const before: Job = { no: event.jobNo, ...row().job, seq: event.seq - 1 };
  await update(sql, [{ before, after: { ...before, seq: event.seq }, kind: 'other' }]);
  await add(sql, [event], event.at);
}

async function seqs(sql: SqliteConnection, no: number, after: number, limit: number): Promise<number[]> {
  return (await ofJob(sql, no, after, limit)).map(({ seq }) => seq);
}

function range(from: number, to: number): number[] {
  return Array.from({ length: to - from + 1 }, (_, i) => from + i);
}

function noted(sql: SqliteConnection): { inRow: number; beside: number } {
  const count = (text: string): string => `length(${text}) - length(replace(${text}, ',', ''))`;
  const [counts] = sql.all(
    `select ${count('job.commits')}, coalesce((select sum(${count('history.commits')}) from history), 0) from job`,
    [],
  );
  return { inRow: counts?.[0] as number, beside: counts?.[1] as number };
}
