import { ok, strictEqual } from 'node:assert';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { JobBody } from '../support/http.ts';
import { startServer } from '../support/server.ts';

test('a server that cannot take over what an earlier one left ends, instead of answering calls and doing nothing', async () => {
  await using server = await startServer();
  const { id } = (await server.head.post<JobBody>('/jobs', { target: 'left-claw' })).body;
  strictEqual((await server.left.post(`/jobs/${id}/claim`)).status, 200);
  await server.kill();
  const database = new DatabaseSync(path.join(server.dataDir, 'spine.db'));
  database.exec(`update job set lease_policy = 'adopt';
    create trigger refuse before update on job begin select raise(abort, 'refused'); end`);
  database.close();
  // It answers before it has come up whole, so both may come first: its first answer or its end.
  await server.restart().catch(() => undefined);
  for (let looks = 0; server.running && looks < 600; looks++) await sleep(50);
  strictEqual(server.running, false);
  ok(server.exitCode !== 0, server.output());
});
