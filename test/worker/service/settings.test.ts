/** What a worker was told and would ignore, or could not work with, is said before it takes anything. */

import { match, ok, strictEqual } from 'node:assert';
import { after, suite, test, type TestContext } from 'node:test';
import { startServer } from '../../support/server.ts';
import {
  heartbeatOf,
  makeTask,
  SHORT_SERVER,
  startWorker,
  untilTask,
  type WorkerOptions,
} from '../../support/worker-process.ts';

const server = await startServer({ env: { ...SHORT_SERVER, SPINE_WORKER_STALE_MS: '1000' } });
after(() => server.stop());

async function refused(t: TestContext, slot: string, options: WorkerOptions, code: number, words: RegExp) {
  const worker = startWorker(t, server, slot, options);
  strictEqual(await worker.ended, code, worker.output());
  match(worker.output(), words);
}

suite('a worker that was told something wrong', () => {
  test('says which option would mean nothing, and what it must be [WK-38]', async (t) => {
    const wrong: [readonly string[], RegExp][] = [
      [['--runner', 'demo', '--command', '["./a"]'], /--command is for the runners command and claude/],
      [['--sessions-url', 'http://127.0.0.1:1'], /--sessions-url needs --runner http/],
      [['--env', 'KEY=value'], /--env must be the name of a variable, without a value, not "KEY=value"/],
      [['--command', '[""]'], /--command must be a JSON array/],
    ];
    await Promise.all(wrong.map(([args, words]) => refused(t, 'wrong', { args }, 2, words)));
    strictEqual(await heartbeatOf(server, 'wrong'), null);
  });

  test('says which folder is not there, and which beats would come too late [WK-07 WK-15]', async (t) => {
    const args = ['--command', '["./a"]', '--root', '/not/there'];
    const late = { SPINE_WORKER_IDLE_BEAT_MS: '1000' };
    const missing = { SPINE_SESSION_COMMAND: '["./a"]', SPINE_SESSION_ROOTS: '/nor/this' };
    await Promise.all([
      refused(t, 'folder-1', { args }, 78, /names \/not\/there, which is no folder/),
      refused(t, 'folder-3', { args: ['--command', '["./a"]'], cwd: '/' }, 78, /say --root <folder>/),
      refused(t, 'folder-2', { env: missing }, 78, /SPINE_SESSION_ROOTS names \/nor\/this/),
      refused(
        t,
        'late',
        { env: late },
        78,
        /SPINE_WORKER_IDLE_BEAT_MS is 1000, but .* 1000 ms .*: set it lower/,
      ),
    ]);
    ok((await heartbeatOf(server, 'folder-1')) === null);
    strictEqual((await heartbeatOf(server, 'late'))?.status, 'offline');
  });
});

test('a worker runs what the settings name, and the demo only where they name nothing [WK-15]', async (t) => {
  const { id } = await makeTask(server, { title: 'real', owner: 'by-settings' });
  const env = { SPINE_SESSION_COMMAND: '["/bin/sh","-c","echo by settings"]' };
  startWorker(t, server, 'by-settings', { env });
  const { result } = await untilTask(server, id, 'done');
  strictEqual(String(result?.['text']).trim(), 'by settings');
});
