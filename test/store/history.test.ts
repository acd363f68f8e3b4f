import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Job } from '../../src/domain/job.ts';
import { migrateSqlite } from '../../src/store/migrate.ts';
import { eventsOf } from '../../src/store/sql/history.ts';
import { insertJobs, updateJobs } from '../../src/store/sql/jobs.ts';
import type { HistoryEvent } from '../../src/store/store.ts';
import { SqliteConnection } from '../../src/store/sqlite-connection.ts';
import { row } from '../conformance/rows.ts';

test('the first events of a job lie in its row, and move out of it together', async () => {
  const { sql, no } = await withJob();
  for (let seq = 2; seq < 8; seq++) await happen(sql, no, heartbeat(seq));
  assert.deepEqual(held(sql), { inRow: 7, moved: 0 });
  await happen(sql, no, heartbeat(8));
  assert.deepEqual(held(sql), { inRow: 0, moved: 8 });
  await happen(sql, no, heartbeat(9));
  assert.deepEqual(held(sql), { inRow: 1, moved: 8 });
  assert.equal((await eventsOf(sql, no, 0, 100)).length, 9);
});

test('a long event leaves the row at once, which every heartbeat would write again', async () => {
  const { sql, no } = await withJob();
  const facts = { text: 'long '.repeat(300) };
  await happen(sql, no, { ...heartbeat(2), kind: 'job.comment', facts });
  assert.deepEqual(held(sql), { inRow: 0, moved: 2 });
  assert.deepEqual((await eventsOf(sql, no, 1, 100))[0]?.facts, facts);
});

test('events are read once that move out of the row between the two looks at them', async () => {
  const { sql, no } = await withJob();
  await happen(sql, no, heartbeat(2));
  const [before] = sql.all('select history from job', []);
  await happen(sql, no, { ...heartbeat(3), facts: { text: 'long '.repeat(300) } });
  sql.run('update job set history = $1', [before?.[0] ?? '']);
  assert.deepEqual(
    (await eventsOf(sql, no, 0, 100)).map(({ seq }) => seq),
    [1, 2, 3],
  );
});

function heartbeat(seq: number): HistoryEvent {
  return { seq, at: seq, kind: 'job.heartbeat', by: 'w', facts: null };
}

async function withJob(): Promise<{ sql: SqliteConnection; no: number }> {
  const sql = new SqliteConnection(':memory:');
  migrateSqlite(sql);
  const first: HistoryEvent = { seq: 1, at: 1, kind: 'job.created', by: 'head', facts: null };
  const [no = 0] = await insertJobs(sql, [{ ...row(), events: [first] }]);
  return { sql, no };
}

async function happen(sql: SqliteConnection, no: number, event: HistoryEvent): Promise<void> {
  const before: Job = { no, ...row().job, seq: event.seq - 1 };
  await updateJobs(sql, [{ before, after: { ...before, seq: event.seq }, events: [event] }]);
}

function held(sql: SqliteConnection): { inRow: number; moved: number } {
  const inRow = "(select count(*) from json_each('[' || rtrim(history, ',') || ']'))";
  const [counts] = sql.all(`select ${inRow}, (select count(*) from event) from job`, []);
  return { inRow: counts?.[0] as number, moved: counts?.[1] as number };
}
