import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { Cron } from 'croner';
import { startServer } from '../support/server.ts';

const ROOT = join(import.meta.dirname, '../..');

/** npm itself runs on the machine's own Node, which it names; the tests run on the one that came with the package. */
const NODE = process.env['npm_node_execpath'] ?? 'node';
const VERSION = spawnSync(NODE, ['--version'], { encoding: 'utf8' }).stdout.trim();
const skip = VERSION.startsWith('v20.') ? false : `npm runs on Node ${VERSION} here, not on Node 20`;

test('on a machine with Node 20 the package starts, keeps its data in SQLite and reads cron by croner [SC-94]', {
  skip,
}, async () => {
  const { engines, dependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
    engines: { node: string };
    dependencies: Record<string, string>;
  };
  assert.equal(engines.node, '>=20');
  assert.ok('croner' in dependencies);
  await using server = await startServer({ node: NODE });
  const rule = '*/7 3-5 * * 1-5';
  const { body } = await server.head.post<{ next_runs: string[] }>('/schedules/preview', { schedule: rule });
  const expected = new Cron(rule, { timezone: 'UTC' }).nextRuns(5).map((at) => at.toISOString());
  assert.deepEqual(body.next_runs, expected);
  const { body: job } = await server.head.post<{ id: string }>('/jobs', { spec: 'kept' });
  const magic = readFileSync(join(server.dataDir, 'spine.db')).subarray(0, 15).toString();
  assert.equal(magic, 'SQLite format 3');
  assert.equal((await server.head.get(`/jobs/${job.id}`)).body['spec'], 'kept');
});
