import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { Client } from 'pg';
import { EVENT_KINDS, type JobEvent } from '../../src/domain/event.ts';
import { everyJob, randomWork } from '../conformance/events.ts';
import { insert, row, tell } from '../conformance/rows.ts';
import { create, HEAD, onEvery, type Opened, POSTGRES, SQLITE_FILE, worker } from '../support/engines.ts';
import { doNext, failNext, plan, runNow, take } from '../support/scheduling.ts';

type Rows = Record<string, unknown>[];

/** As a person would ask, beside the server. */
async function ask({ store, place }: Opened, text: string): Promise<Rows> {
  if (store.dialect === 'sqlite') {
    const database = new DatabaseSync(place);
    try {
      return database.prepare(text).all();
    } finally {
      database.close();
    }
  }
  const client = new Client({ connectionString: place });
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(text)).rows;
  } finally {
    await client.end();
  }
}

/** As the text says, and who has read what. */
const TABLES = {
  jobs: 'id name schedule_cron schedule_tz session_target agent_id payload_model payload_thinking payload_timeout_seconds delivery_channel delivery_to parent_id trigger_on trigger_delay_s trigger_condition max_retries overlap_policy queued_count payload_scope resource_pool delivery_guarantee job_class approval_required approval_timeout_s approval_auto context_retrieval context_retrieval_limit next_run_at last_run_at last_status consecutive_errors',
  runs: 'id job_id status started_at finished_at duration_ms last_heartbeat summary error_message triggered_by_run retry_of retry_count context_summary replay_of',
  messages: 'id from_agent to_agent kind priority owner reply_to body delivered_at read_at expires_at status',
  receipts: 'message_id agent delivered_at read_at',
  agents: 'id name status last_seen_at capabilities',
  delivery_aliases: 'alias channel target description',
  approvals: 'id job_id run_id status requested_at resolved_at resolved_by notes',
  schema_migrations: 'version name',
};

const NOW = { sqlite: "datetime('now')", postgres: 'now()' } as const;

onEvery([SQLITE_FILE, POSTGRES], (each) => {
  each('times of the views compare with the database’s own, numbers are numbers [SC-76]', async (spine) => {
    const now = NOW[spine.store.dialect];
    await plan(spine, {
      schedule: '0 2 * * *',
      max_retries: 2,
      delete_after_run: true,
      run_timeout_ms: 5_000,
    });
    const later = await ask(
      spine,
      `select max_retries + 1 as more, run_timeout_ms * 2 as twice, delete_after_run + enabled as flags
       from jobs where next_run_at > '1970-01-01 00:00:00' and created_at < ${now} and max_retries > 1`,
    );
    assert.deepEqual(
      later.map((row) => [Number(row['more']), Number(row['twice']), Number(row['flags'])]),
      [[3, 10_000, 2]],
    );
  });

  each(
    'every table of the text can be asked for, by the columns that the text names [SC-22 SC-76]',
    async (spine) => {
      const made = await plan(spine, { name: 'asked', schedule: '0 2 * * *', approval_required: true });
      await runNow(spine, made);
      await spine.engine.agents.register(HEAD, { id: 'ops' });
      await spine.engine.messages.send(HEAD, { kind: 'fact', to: 'ops', body: 'x' });
      await spine.engine.aliases.save(HEAD, { alias: 'log', channel: 'log', target: '', description: null });
      for (const [table, columns] of Object.entries(TABLES)) {
        const [found] = await ask(spine, `select ${columns.split(' ').join(', ')} from ${table}`);
        assert.equal(Object.keys(found ?? {}).length, columns.split(' ').length, table);
      }
    },
  );

  each(
    'a run shows its summary: words, what a command printed, or the whole result [SC-22]',
    async (spine) => {
      const made = await plan(spine, { overlap_policy: 'allow' });
      for (const result of [
        'just text',
        { text: 'words' },
        { stdout: 'printed' },
        { n: 1 },
        null,
        'nul \0 in it',
        { text: 'half \ud800 of a character' },
      ]) {
        await runNow(spine, made);
        await doNext(spine, result);
        await spine.clock.advance(1_000);
      }
      const rows = await ask(spine, 'select summary, duration_ms from runs order by created_at, id');
      const summaries = rows.map(({ summary }) => summary);
      assert.deepEqual(summaries.slice(0, 5), ['just text', 'words', 'printed', '{"n":1}', null]);
      assert.match(String(summaries[5]), /^nul/);
      assert.match(String(summaries[6]), /^half/);
      assert.ok(rows.every(({ duration_ms }) => Number(duration_ms) >= 0));
    },
  );

  each(
    'a run shows what it took in the words of the text, a failed one too, whatever else it said [SC-22]',
    async (spine) => {
      const usage = { inputTokens: 100, outputTokens: 7, totalTokens: 107 };
      const made = await plan(spine, { overlap_policy: 'allow' });
      for (const result of [
        { text: 'well', usage },
        { text: 'nul \0, half \ud800', usage },
        'no usage',
        null,
      ]) {
        await runNow(spine, made);
        await doNext(spine, result);
        await spine.clock.advance(1_000);
      }
      await runNow(spine, made);
      await failNext(spine, { message: 'the model failed', usage });
      const rows = await ask(spine, 'select usage from runs order by created_at, id');
      const took = { input_tokens: 100, output_tokens: 7, total_tokens: 107 };
      assert.deepEqual(
        rows.map(({ usage: shown }) => (typeof shown === 'string' ? (JSON.parse(shown) as unknown) : shown)),
        [took, took, null, null, took],
      );
    },
  );

  each(
    'a run shows what it was given, and the hash of what its agent was sent [SC-14 SC-22]',
    async (spine) => {
      const made = await plan(spine);
      await runNow(spine, made);
      const { job } = (await take(spine)) ?? assert.fail('no run');
      const note = { contextSummary: '{"messages_injected":3}', promptHash: 'abc', prompt: 'Do it.' };
      await spine.engine.runs.note(worker('w'), job.id, job.leaseToken ?? '', note);
      const [shown] = await ask(spine, 'select context_summary, prompt_hash from runs');
      assert.deepEqual({ ...shown }, { context_summary: note.contextSummary, prompt_hash: 'abc' });
    },
  );

  each('the view of events shows of every job what the API answers', async (spine) => {
    await randomWork(spine, 31);
    await tellAllKinds(spine);
    await tellOften(spine);
    const jobs = await everyJob(spine);
    for (const { id } of jobs)
      assert.deepEqual(
        await viewed(spine, `where job_id = '${id}' order by seq`),
        (await spine.engine.jobs.events(HEAD, id, 0, 1_000)).map((event) => shown(id, event)),
      );
    const all = await viewed(spine, '');
    assert.equal(
      all.length,
      jobs.reduce((sum, { seq }) => sum + seq, 0),
    );
    assert.deepEqual(new Set(all.map(({ kind }) => kind)).size, EVENT_KINDS.length + 1);
  });

  each('the view of events shows names that a database has no text for', async (spine) => {
    const { id } = await tellOne(spine, { by: 'nul \0', facts: { text: 'nul \0, half \ud800' } });
    const [event] = await viewed(spine, `where job_id = '${id}' and seq = 1`);
    assert.match(String(event?.by), /^"?nul/);
    assert.deepEqual(event?.facts, { text: 'nul \0, half \ud800' });
  });

  each('aliases are written as the text writes them [SC-38]', async (spine) => {
    const insert = `INSERT INTO delivery_aliases (alias, channel, target, description) VALUES
      ('ops-channel', 'telegram', '<chat-id>', 'Ops notification channel'),
      ('admin', 'telegram', '<user-id>', 'Admin DM')`;
    await ask(spine, insert);
    await assert.rejects(ask(spine, insert), /unique|duplicate/i);
    await ask(spine, "update delivery_aliases set target = '7' where alias = 'admin'");
    await ask(spine, "delete from delivery_aliases where alias = 'ops-channel'");
    const now = NOW[spine.store.dialect];
    const rows = await ask(
      spine,
      `select alias, channel, target, description from delivery_aliases where created_at <= ${now}`,
    );
    assert.deepEqual(
      rows.map((row) => ({ ...row })),
      [{ alias: 'admin', channel: 'telegram', target: '7', description: 'Admin DM' }],
    );
  });
});

interface Shown extends Pick<JobEvent, 'seq' | 'kind' | 'by' | 'facts'> {
  readonly jobId: string;
  readonly at: number;
}

function shown(jobId: string, { seq, at, kind, by, facts }: JobEvent): Shown {
  return { jobId, seq, at, kind, by, facts };
}

/** As a person sees them, in the same shape. */
async function viewed(spine: Opened, rest: string): Promise<Shown[]> {
  const rows = await ask(spine, `select job_id, seq, time, kind, by, facts from events ${rest}`);
  return rows.map(({ job_id, seq, time, kind, by, facts }) => ({
    jobId: job_id as string,
    seq: Number(seq),
    at: time instanceof Date ? time.getTime() : Date.parse(`${String(time).replace(' ', 'T')}Z`),
    kind: kind as JobEvent['kind'],
    by: by as string,
    facts: (typeof facts === 'string' ? JSON.parse(facts) : facts) as JobEvent['facts'],
  }));
}

const FACTS = {
  text: 'Grüße "\\ 🚀 \n',
  none: null,
  n: Number.MAX_SAFE_INTEGER,
  list: [1, { a: [] }],
  yes: true,
};

/** One job to which everything happens that can, and something that only another version knows. */
async function tellAllKinds({ store }: Opened): Promise<void> {
  const [job] = await insert(store, [row({ seq: 0 })]);
  if (job === undefined) throw new Error('no job');
  const kinds = [...EVENT_KINDS, 'a "kind" \\' as JobEvent['kind']];
  const events = kinds.map((kind, i): JobEvent => {
    const facts = i % 3 === 0 ? null : { ...FACTS, i };
    return { jobNo: job.no, seq: i + 1, at: 1_000 + i, kind, by: `ö "${i}" \\`, facts };
  });
  await store.transaction(0, (tx) => tell(tx, job, events, 1));
}

async function tellOne({ store }: Opened, event: Pick<JobEvent, 'by' | 'facts'>): Promise<{ id: string }> {
  const [job] = await insert(store, [row({ seq: 0 })]);
  if (job === undefined) throw new Error('no job');
  const told: JobEvent = { jobNo: job.no, seq: 1, at: 1_000, kind: 'job.imported', ...event };
  await store.transaction(0, (tx) => tell(tx, job, [told], 1));
  return job;
}

/** More than the row names. */
async function tellOften(spine: Opened): Promise<void> {
  const { id } = await create(spine);
  for (let i = 0; i < 70; i++) await spine.engine.jobs.comment(HEAD, id, `${i}`);
}
