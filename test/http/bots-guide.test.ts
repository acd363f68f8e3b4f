import { deepStrictEqual, match, strictEqual } from 'node:assert';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { startServer } from '../support/server.ts';

const guide = readFileSync(new URL('../../docs/guides/task-queue.md', import.meta.url), 'utf8');
const CLI = fileURLToPath(new URL('../../bin/spine.cjs', import.meta.url));

test('the guide leads from the first admin to a task that is done [TQ-20]', async () => {
  await using server = await startServer();
  const blocks = [...guide.matchAll(/^```bash\n([^]*?)^```/gm)].map(([, text = '']) => text);
  strictEqual(blocks.length, 3);
  const script = blocks
    .join('\n')
    .replaceAll('npx spine', `"$NODE" "${CLI}"`)
    .replaceAll(/\bnode -pe/g, '"$NODE" -pe');
  const { status, stdout, stderr } = spawnSync('bash', ['-euo', 'pipefail', '-c', script], {
    encoding: 'utf8',
    env: {
      PATH: process.env['PATH'] ?? '',
      HOME: server.dataDir,
      NODE: process.execPath,
      SPINE_URL: server.url,
      SPINE_TOKEN: server.tokens.head,
      ADMIN_PASSWORD: 'a long password',
      BOT_PASSWORD: 'another password',
    },
  });
  strictEqual(status, 0, stderr);
  match(stdout, /"inserted":1,"skipped":0,"total":1/);
  const { body } = await server.head.get<{ jobs: { title: string; status: string; result: unknown }[] }>(
    '/jobs',
  );
  deepStrictEqual(
    body.jobs.map(({ title, status: ended, result }) => [title, ended, result]),
    [['Crawl NVDA', 'done', { posts_collected: 1 }]],
  );
});
