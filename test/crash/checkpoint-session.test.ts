/** What a session has kept outlives its worker and the server, and its conversation goes on once. */

import { deepStrictEqual, match, notStrictEqual, strictEqual } from 'node:assert';
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { startServer, type TestServer } from '../support/server.ts';
import {
  linesOf,
  makeTask,
  startWorker,
  type Task,
  until,
  untilTask,
  type WorkerProcess,
} from '../support/worker-process.ts';

/** No stall of a busy machine is taken for a crash: all the crashes are those of the test. */
const SERVER = { SPINE_BRIDGE_AUTH: 'loopback', SPINE_WORKER_STALE_MS: '30000' };

/**
 * Claude Code as far as it matters here: its conversations are files of the folder that it works in, and the first one keeps a
 * checkpoint by itself and hangs. It says in `calls` what it was asked, and whether another one is at work.
 */
const AGENT = `#!/bin/sh
cat >> "$DIR/prompts"
last=$(cat "$DIR/pid" 2>/dev/null)
test -n "$last" && grep -qs '^State:.[RSDT]' "/proc/$last/status" && echo "beside another" >> "$DIR/calls"
case "$6" in
--resume) test -e "$7" || { echo "No conversation found with session ID: $7" >&2; exit 1; } ;;
--session-id) test ! -e "$7" || { echo "Error: Session ID $7 is already in use." >&2; exit 1; }; touch "$7" ;;
esac
echo $$ > "$DIR/pid"
echo "$6" >> "$DIR/calls"
if test ! -e "$DIR/kept"; then
  curl -sf "$SPINE_URL/jobs/$SPINE_JOB_ID/checkpoint" -H "Authorization: Bearer $SPINE_TOKEN" \\
    -H 'Content-Type: application/json' -d '{"text":"Two walls are done."}' >/dev/null || exit 9
  touch "$DIR/kept"
  sleep 600
fi
sleep 1
echo '{"type":"result","subtype":"success","is_error":false,"result":"Painted it."}'
`;

function agentIn(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), 'spine-agent-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const program = join(folder, 'claude');
  writeFileSync(program, AGENT.replaceAll('$DIR', folder));
  chmodSync(program, 0o755);
  return { folder, args: ['--runner', 'claude', '--command', JSON.stringify([program])] };
}

async function keptAndKilled(server: TestServer, worker: WorkerProcess, folder: string): Promise<void> {
  await until('the checkpoint', () => existsSync(join(folder, 'kept')));
  worker.kill('SIGKILL');
  await worker.ended;
  await server.restart();
}

async function survives(t: TestContext): Promise<void> {
  await using server = await startServer({ env: SERVER });
  const { folder, args } = agentIn(t);
  const { id } = await makeTask(server, { title: 'Paint', owner: 'slot-1' });
  const first = startWorker(t, server, 'slot-1', { args });
  await keptAndKilled(server, first, folder);
  const second = startWorker(t, server, 'slot-1', { args });
  notStrictEqual(second.folder, first.folder);
  const done = await untilTask(server, id, 'done');
  strictEqual(done.attempts, 2);
  strictEqual(done.metadata['crashRecovery'], true);
  deepStrictEqual(linesOf(join(folder, 'calls')), ['--session-id', '--session-id']);
  match(
    readFileSync(join(folder, 'prompts'), 'utf8'),
    /The last checkpoint:\n<data \S+>\nTwo walls are done\./,
  );
}

test(
  'after kill -9 of worker and server a session elsewhere begins with the checkpoint in its prompt [WK-43]',
  survives,
);

test('however many workers come after a crash, its conversation goes on once, and never twice at a time [WK-32 WK-43]', async (t) => {
  await using server = await startServer({ env: SERVER });
  const { folder, args } = agentIn(t);
  const workingDir = folder;
  const task: Task = await makeTask(server, { title: 'Paint', owner: 'slot-1', workingDir });
  const inFolder = { args: [...args, '--root', folder] };
  await keptAndKilled(server, startWorker(t, server, 'slot-1', inFolder), folder);
  for (let i = 0; i < 5; i++) startWorker(t, server, 'slot-1', inFolder);
  const done = await untilTask(server, task.id, 'done');
  strictEqual(done.attempts, 2);
  deepStrictEqual(linesOf(join(folder, 'calls')), ['--session-id', '--resume']);
});
