import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { Client } from 'pg';
import { onEvery, type Opened, POSTGRES, SQLITE_FILE } from '../support/engines.ts';
import { doNext, plan, runNow } from '../support/scheduling.ts';

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
      ]) {
        await runNow(spine, made);
        await doNext(spine, result);
        await spine.clock.advance(1_000);
      }
      const rows = await ask(spine, 'select summary, duration_ms from runs order by created_at, id');
      const summaries = rows.map(({ summary }) => summary);
      assert.deepEqual(summaries.slice(0, 5), ['just text', 'words', 'printed', '{"n":1}', null]);
      assert.match(String(summaries[5]), /nul/);
      assert.ok(rows.every(({ duration_ms }) => Number(duration_ms) >= 0));
    },
  );

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
