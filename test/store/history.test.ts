import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JobEvent } from '../../src/domain/event.ts';
import type { Job } from '../../src/domain/job.ts';
import { migrateSqlite } from '../../src/store/migrate.ts';
import { addToFeed, appendEvents } from '../../src/store/sql/events.ts';
import { eventsOf } from '../../src/store/sql/history.ts';
import { insertJobs, updateJobs } from '../../src/store/sql/jobs.ts';
import { SqliteConnection } from '../../src/store/sqlite-connection.ts';
import { row } from '../conformance/rows.ts';

test('the flushes of a job are noted in its row, and move out of it together', async () => {
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

test('events are told once whose note moves out of the row between the two looks at it', async () => {
  const { sql, no } = await withJob();
  for (let seq = 2; seq < 32; seq++) await happen(sql, heartbeat(no, seq));
  const [before] = sql.all('select flushes from job', []);
  await happen(sql, heartbeat(no, 32));
  sql.run('update job set flushes = $1 || flushes', [before?.[0] ?? '']);
  assert.deepEqual(await seqs(sql, no, 0, 100), range(1, 32));
});

test('events that were brought in from elsewhere stand before those that the flushes tell of', async () => {
  const { sql, no } = await withJob();
  await appendEvents(sql, [heartbeat(no, 2), heartbeat(no, 3)], 3);
  await happen(sql, heartbeat(no, 4));
  assert.deepEqual(await seqs(sql, no, 0, 100), range(1, 4));
  assert.deepEqual(await seqs(sql, no, 1, 2), [2, 3]);
});

test('a note of a flush that tells nothing of the job does no harm', async () => {
  const { sql, no } = await withJob();
  const job: Job = { no, ...row().job, seq: 1 };
  await updateJobs(sql, [{ before: job, after: { ...job, watched: true } }]);
  await addToFeed(sql, [heartbeat(no + 1, 1)], 1);
  assert.deepEqual(await seqs(sql, no, 0, 100), [1]);
});

function heartbeat(jobNo: number, seq: number): JobEvent {
  return { jobNo, seq, at: seq, kind: 'job.heartbeat', by: 'w', facts: null };
}

async function withJob(): Promise<{ sql: SqliteConnection; no: number }> {
  const sql = new SqliteConnection(':memory:');
  migrateSqlite(sql);
  const [no = 0] = await insertJobs(sql, [row()]);
  await addToFeed(sql, [{ ...heartbeat(no, 1), kind: 'job.created' }], 1);
  return { sql, no };
}

async function happen(sql: SqliteConnection, event: JobEvent): Promise<void> {
  const before: Job = { no: event.jobNo, ...row().job, seq: event.seq - 1 };
  await updateJobs(sql, [{ before, after: { ...before, seq: event.seq } }]);
  await addToFeed(sql, [event], event.at);
}

async function seqs(sql: SqliteConnection, no: number, after: number, limit: number): Promise<number[]> {
  return (await eventsOf(sql, no, after, limit)).map(({ seq }) => seq);
}

function range(from: number, to: number): number[] {
  return Array.from({ length: to - from + 1 }, (_, i) => from + i);
}

function noted(sql: SqliteConnection): { inRow: number; beside: number } {
  const count = (text: string): string => `length(${text}) - length(replace(${text}, ',', ''))`;
  const [counts] = sql.all(
    `select ${count('job.flushes')}, coalesce((select sum(${count('history.flushes')}) from history), 0) from job`,
    [],
  );
  return { inRow: counts?.[0] as number, beside: counts?.[1] as number };
}
