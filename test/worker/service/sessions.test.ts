import { deepStrictEqual, match, ok, strictEqual } from 'node:assert';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, suite, test, type TestContext } from 'node:test';
import { startServer, type TestServer } from '../../support/server.ts';
import { asPrompted, sessionServer } from '../../support/session-server.ts';
import {
  heartbeatOf,
  linesOf,
  makeTask,
  shellSession,
  PATIENT_SERVER,
  startWorker,
  type Task,
  taskOf,
  until,
  untilBeat,
  untilTask,
} from '../../support/worker-process.ts';

suite('sessions of a worker', () => {
  let server: TestServer;
  before(async () => {
    server = await startServer({ env: PATIENT_SERVER });
  });
  after(() => server.stop());

  /** One task done by one kind of session, to its end. */
  async function outcome(
    t: TestContext,
    slot: string,
    args: readonly string[],
    status: string,
    more: object = {},
    prepare: (folder: string) => void = () => undefined,
  ): Promise<Task> {
    const task = await makeTask(server, { title: `Task of ${slot}`, owner: slot, ...more });
    const worker = startWorker(t, server, slot, { args, prepare });
    const ended = await untilTask(server, task.id, status);
    await untilBeat(server, slot, 'idle');
    worker.kill('SIGTERM');
    strictEqual(await worker.ended, 0);
    return ended;
  }

  test('the prompt has all of the task, and the session works where it says [WK-13 WK-16 WK-22]', async (t) => {
    const slot = 'prompt-1';
    const task = await makeTask(server, {
      title: 'Paint',
      owner: slot,
      description: 'The shed',
      instructions: 'Use green.',
      deliverables: 'A green shed',
      steps: ['sand', 'paint'],
      workingDir: 'sub',
    });
    const args = shellSession('cat; pwd; env | grep -E "SPINE|SECRET" | sort');
    const worker = startWorker(t, server, slot, {
      args: [...args, '--env', 'MY_SECRET_FOR_IT'],
      env: { MY_SECRET_FOR_IT: 'x', MY_OTHER_SECRET: 'y' },
      prepare: (folder) => mkdirSync(join(folder, 'sub')),
    });
    const done = await untilTask(server, task.id, 'done');
    const text = String(done.result?.['text']);
    for (const part of [
      `**Task ID**: ${task.id}`,
      '**Task Title**: Paint',
      `**Owner**: ${slot}`,
      '**Working Directory**: sub',
      '**Description**:\nThe shed',
      '**Instructions**:\nUse green.',
      '**Deliverables**:\nA green shed',
      '1. sand\n2. paint',
      `curl -X PATCH ${server.url}/api/tasks/${task.id}`,
      `${worker.folder}/sub\n`,
      'MY_SECRET_FOR_IT=x',
      `SPINE_TOKEN=run.${task.id}.`,
    ])
      ok(text.includes(part), part);
    ok(!text.includes('MY_OTHER_SECRET') && !text.includes(server.tokens.head));
    match(String(done.result?.['sessionId']), /^agent:main:worker-prompt-1:[0-9a-f-]{36}$/);
  });

  test('what a task does not say has the words of the text [WK-17]', async (t) => {
    const done = await outcome(t, 'prompt-2', shellSession('cat'), 'done');
    const text = String(done.result?.['text']);
    for (const part of [
      'Complete the task as described above.',
      'Provide a summary of what was accomplished.',
      '(No specific steps provided)',
      '**Working Directory**: /home/openclaw/.openclaw/workspace/',
    ])
      ok(text.includes(part), part);
  });

  test('the prompt may be an argument, and the demo needs no program at all [WK-20 WK-26]', async (t) => {
    const args = ['--command', JSON.stringify(['./agent', '{prompt}'])];
    const done = await outcome(t, 'argument-1', args, 'done', { workingDir: 'sub' }, (folder) => {
      mkdirSync(join(folder, 'sub'));
      writeFileSync(join(folder, 'agent'), '#!/bin/sh\necho "in ${PWD##*/} got: $1"\n', { mode: 0o755 });
      // The program is the operator's, whatever lies in the folder of the task.
      writeFileSync(join(folder, 'sub', 'agent'), '#!/bin/sh\necho another\n', { mode: 0o755 });
    });
    match(String(done.result?.['text']), /^in sub got: You are a worker agent/);
    const demo = await outcome(t, 'demo-1', ['--runner', 'demo'], 'done');
    match(String(demo.result?.['text']), /^Demo session: nothing was done about "Task of demo-1"/);
  });

  test('what it prints is the log of the job [WK-18]', async (t) => {
    const done = await outcome(t, 'log-1', shellSession('cat >/dev/null; echo one; echo two >&2'), 'done');
    const { body } = await server.head.get<{ logs: { level: string; text: string }[] }>(
      `/jobs/${done.id}/logs`,
    );
    deepStrictEqual(
      body.logs.map(({ level, text }) => `${level} ${text}`).toSorted((a, b) => (a < b ? -1 : 1)),
      ['info one', 'warn two'],
    );
  });

  test('a long answer of Claude Code is read whole, and logged in lines that the log takes [WK-15 WK-18 WK-20]', async (t) => {
    const said = `printf '{"type":"result","subtype":"success","is_error":false,"result":"'; head -c 300000 /dev/zero | tr '\\0' x; echo '"}'`;
    const done = await claude(t, 'claude-long', said, 'done');
    strictEqual(String(done.result?.['text']).length, 300_000);
    const { body } = await server.head.get<{ logs: { text: string }[] }>(`/jobs/${done.id}/logs?limit=100`);
    strictEqual(body.logs.map(({ text }) => text).join('').length, 300_000 + 66);
    ok(body.logs.every(({ text }) => text.length <= 8_192));
  });

  /** Ten sessions that did not do their task, whatever they say. */
  const LIES: readonly (readonly [what: string, script: string, reason: RegExp, more?: object])[] = [
    ['exits with 1', 'cat >/dev/null; echo trying; exit 1', /Exit code 1/],
    [
      'says that all is well and exits with 3',
      'cat >/dev/null; echo Task completed successfully; exit 3',
      /Exit code 3/,
    ],
    ['prints nothing and exits with 0', 'cat >/dev/null', /without a word/],
    ['prints nothing but blanks', 'cat >/dev/null; echo; echo "  "', /without a word/],
    ['is killed', 'echo begun; kill -9 $$', /Signal 9/],
    ['kills its own guardian', 'echo done; kill -9 $PPID; sleep 600', /disappeared|Signal 9/],
    ['ends by a signal of its own', 'echo done; kill -TERM $$; sleep 5', /Signal 15/],
    ['never ends', 'echo done; sleep 600', /Session timeout exceeded/, { timeoutMs: 700 }],
    [
      'prints a verdict of its own to the guardian',
      'echo 0 >&4 2>/dev/null || exit 9; echo done; exit 9',
      /Exit code|Signal/,
    ],
    ['works outside of its folders', 'echo done', /lies outside/, { workingDir: '/' }],
  ];
  for (const [i, [what, script, reason, more]] of LIES.entries())
    test(`a session that ${what} has not done its task [WK-19 WK-20 WK-24]`, async (t) => {
      const slot = `lie-${i + 1}`;
      const blocked = await outcome(t, slot, shellSession(script), 'blocked', more);
      match(String(blocked.metadata['errorReason']), reason);
      ok(Number.isInteger(blocked.metadata['failedAt']));
      match(String(blocked.metadata['sessionId']), new RegExp(`^agent:main:worker-${slot}:`));
      strictEqual(blocked.attempts, 1);
    });

  test('a program that is not there blocks the task [WK-24]', async (t) => {
    const args = ['--command', '["/nowhere/agent"]'];
    const blocked = await outcome(t, 'lie-missing', args, 'blocked');
    match(String(blocked.metadata['errorReason']), /could not be started/);
  });

  test('the agent may set review itself, and says its last words [WK-21]', async (t) => {
    const script = `cat >/dev/null
      curl -sf -X PATCH "$SPINE_URL/api/tasks/$SPINE_JOB_ID" -H 'Content-Type: application/json' \
        -H "Authorization: Bearer $SPINE_TOKEN" -d '{"status":"review"}' >/dev/null || exit 7
      sleep 2; echo my findings; exit 4`;
    const slot = 'agent-1';
    const task = await makeTask(server, { title: 'own word', owner: slot });
    startWorker(t, server, slot, { args: shellSession(script) });
    await untilTask(server, task.id, 'review');
    await until('its last words', async () => {
      const { body } = await server.head.get<{ logs: { text: string }[] }>(`/jobs/${task.id}/logs`);
      return body.logs.some(({ text }) => text === 'my findings');
    });
    await untilBeat(server, slot, 'idle');
    strictEqual((await taskOf(server, task.id)).status, 'review');
  });

  test('a timeout ends the session and blocks the task, and no later beat tells of it [WK-22 WK-23]', async (t) => {
    const blocked = await outcome(t, 'late-1', shellSession('echo x; sleep 600'), 'blocked', {
      timeoutMs: 600,
    });
    strictEqual(blocked.metadata['errorReason'], 'Session timeout exceeded');
    strictEqual((await heartbeatOf(server, 'late-1'))?.task, null);
    const capped = await makeTask(server, { title: 'ten hours', owner: 'late-2', timeoutMs: 36_000_000 });
    startWorker(t, server, 'late-2', {
      args: shellSession('echo x; sleep 600'),
      env: { SPINE_SESSION_TIMEOUT_MAX_MS: '600' },
    });
    const cut = await untilTask(server, capped.id, 'blocked');
    strictEqual(cut.metadata['errorReason'], 'Session timeout exceeded');
  });

  const CLAUDE = `#!/bin/sh
test "$1 $2 $3 $4" = "-p --output-format json --model" || { echo "bad arguments: $*" >&2; exit 64; }
test "$5" = "claude-sonnet-4-5" || { echo "bad model: $5" >&2; exit 64; }
test "$6" = "--session-id" || { echo "no conversation: $6" >&2; exit 64; }
test $# = 7 || { echo "too many" >&2; exit 64; }
grep -q "^You are a worker agent" || { echo "no prompt" >&2; exit 65; }
`;
  const claude = (t: TestContext, slot: string, answer: string, status: string) =>
    outcome(t, slot, ['--runner', 'claude', '--command', '["./claude"]'], status, {}, (folder) => {
      writeFileSync(join(folder, 'claude'), `${CLAUDE}${answer}\n`);
      chmodSync(join(folder, 'claude'), 0o755);
    });

  test('Claude Code is asked without a terminal, and its answer, cost and session are kept [WK-15]', async (t) => {
    const said = {
      type: 'result',
      subtype: 'success',
      is_error: false,
      result: 'Painted it.',
      session_id: 'abc-123',
      total_cost_usd: 0.25,
      usage: { input_tokens: 10, output_tokens: 20 },
      num_turns: 3,
    };
    const done = await claude(t, 'claude-1', `printf '%s' '${JSON.stringify(said)}'`, 'done');
    const { sessionId: _, ...result } = done.result ?? {};
    deepStrictEqual(result, {
      text: 'Painted it.',
      exitCode: 0,
      resumeId: 'abc-123',
      usage: { input_tokens: 10, output_tokens: 20 },
      costUsd: 0.25,
      turns: 3,
    });
  });

  /** Keeps conversations as files in the folder it works in, as the real one keeps them for each folder. */
  const CONVERSING = `#!/bin/sh
cat >> prompts
case "$6" in
--session-id) test ! -e "$7" || { echo "Error: Session ID $7 is already in use." >&2; exit 1; }
  touch "$7"; echo "begins $7" >> calls; test "$(wc -l < calls)" -gt 1 || exec sleep 600 ;;
--resume) test -e "$7" || { echo "No conversation found with session ID: $7" >&2; exit 1; }
  echo "continues $7" >> calls ;;
esac
echo '{"type":"result","subtype":"success","is_error":false,"result":"Painted it."}'
`;
  for (const [where, kept, second] of [
    ['in the same folder goes on with its conversation', true, 'continues'],
    ['where the conversation is not known begins anew', false, 'begins'],
  ] as const)
    test(`after a crash Claude Code ${where}, with the checkpoint in its prompt [WK-32 WK-43]`, async (t) => {
      const folder = mkdtempSync(join(tmpdir(), 'spine-claude-'));
      t.after(() => rmSync(folder, { recursive: true }));
      writeFileSync(join(folder, 'claude'), CONVERSING);
      chmodSync(join(folder, 'claude'), 0o755);
      const calls = join(folder, 'calls');
      const slot = kept ? 'going-on' : 'anew';
      const args = [
        '--runner',
        'claude',
        '--command',
        JSON.stringify([join(folder, 'claude')]),
        '--root',
        folder,
      ];
      const task = await makeTask(server, { title: 'Paint', owner: slot, workingDir: folder });
      const first = startWorker(t, server, slot, { args });
      await until('the first session', () => linesOf(calls).length > 0);
      const checkpoint = { text: 'Two walls are done.' };
      strictEqual((await server.head.post(`/jobs/${task.id}/checkpoint`, checkpoint)).status, 200);
      first.kill('SIGKILL');
      await first.ended;
      if (!kept) for (const line of linesOf(calls)) rmSync(join(folder, line.split(' ')[1] ?? ''));
      startWorker(t, server, slot, { args });
      await untilTask(server, task.id, 'done');
      const said = linesOf(calls).map((line) => line.split(' '));
      deepStrictEqual(
        said.map(([what]) => what),
        ['begins', second],
      );
      strictEqual(said[0]?.[1], said[1]?.[1]);
      match(
        readFileSync(join(folder, 'prompts'), 'utf8'),
        /The last checkpoint:\n<data \S+>\nTwo walls are done\./,
      );
    });

  const CLAUDE_LIES: readonly (readonly [what: string, script: string, reason?: RegExp])[] = [
    ['no JSON', 'echo All done!'],
    // Asked again for another conversation, it would say something else.
    ['that a port is already in use', 'echo "Error: port 3000 is already in use" >&2; exit 1', /port 3000/],
    [
      'an error with exit code 0',
      `echo '{"type":"result","subtype":"success","is_error":true,"result":"out of credit"}'`,
    ],
    ['that it ran out of turns', `echo '{"type":"result","subtype":"error_max_turns","is_error":false}'`],
    [
      'success, and exits with 1',
      `echo '{"type":"result","subtype":"success","is_error":false,"result":"ok"}'; exit 1`,
    ],
    ['success without a word', `echo '{"type":"result","subtype":"success","is_error":false,"result":""}'`],
  ];
  for (const [i, [what, said, reason = /./]] of CLAUDE_LIES.entries())
    test(`Claude Code that answers ${what} has not done its task [WK-19 WK-20]`, async (t) => {
      const { metadata } = await claude(t, `claude-lie-${i}`, said, 'blocked');
      match(String(metadata['errorReason']), reason);
    });

  test('a session of another server is spawned as the text says, watched and ended [WK-14 WK-15 WK-18]', async (t) => {
    const sessions = await sessionServer(t);
    const args = ['--runner', 'http', '--sessions-url', sessions.url];
    const task = await makeTask(server, { title: 'Elsewhere', owner: 'http-1', model: 'my/model' });
    const seen: unknown[] = [];
    sessions.onSpawn = async () => {
      const { status } = await taskOf(server, task.id);
      const beat = await heartbeatOf(server, 'http-1');
      seen.push([
        status,
        beat?.status,
        beat?.task,
        beat?.sessionId === sessions.spawned[0]?.['sessionLabel'],
      ]);
    };
    startWorker(t, server, 'http-1', { args });
    const [spawned] = await until('the spawn', () => (sessions.spawned.length > 0 ? sessions.spawned : null));
    const { sessionLabel, prompt, ...rest } = spawned as Record<string, unknown>;
    match(String(sessionLabel), /^agent:main:worker-http-1:/);
    match(String(prompt), /\*\*Task Title\*\*: Elsewhere/);
    ok(!String(prompt).includes('$SPINE_TOKEN'));
    deepStrictEqual(rest, { channel: 'internal', model: 'my/model', thinking: 'low', autoStart: true });
    // Both were so before anything was begun: whoever comes after a crash finds the session.
    await until('somebody looked', () => seen.length > 0);
    deepStrictEqual(seen, [['in-progress', 'working', task.id, true]]);
    sessions.onSpawn = async () => undefined;
    sessions.end(String(sessionLabel), { completed: true });
    await untilTask(server, task.id, 'done');
    const second = await makeTask(server, { title: 'Bad', owner: 'http-1' });
    await until('the second', () => sessions.spawned.length === 2);
    strictEqual(sessions.spawned[1]?.['model'], 'anthropic/claude-sonnet-4-5');
    sessions.end(String(sessions.spawned[1]?.['sessionLabel']), { completed: true, error: 'it lied' });
    const blocked = await untilTask(server, second.id, 'blocked');
    strictEqual(blocked.metadata['errorReason'], 'it lied');
    // So many have ended since it was begun that the list does not have it any more.
    sessions.onlyByLabel = true;
    const third = await makeTask(server, { title: 'Long', owner: 'http-1' });
    await until('the third', () => sessions.spawned.length === 3);
    sessions.end(String(sessions.spawned[2]?.['sessionLabel']), { completed: true, result: 'at last' });
    strictEqual((await untilTask(server, third.id, 'done')).result?.['text'], 'at last');
  });

  test('an agent of another server ends its own task with what stands in its prompt, and is told of its time [WK-21 WK-22]', async (t) => {
    const sessions = await sessionServer(t);
    const task = await makeTask(server, { title: 'Own word', owner: 'http-3', timeoutMs: 3_600_000 });
    startWorker(t, server, 'http-3', { args: ['--runner', 'http', '--sessions-url', sessions.url] });
    const [spawned] = await until('the spawn', () => (sessions.spawned.length > 0 ? sessions.spawned : null));
    strictEqual(spawned?.['timeoutMs'], 3_600_000);
    await asPrompted(String(spawned?.['prompt']));
    strictEqual((await taskOf(server, task.id)).status, 'review');
    sessions.end(String(spawned?.['sessionLabel']), { completed: true });
    await untilBeat(server, 'http-3', 'idle');
    strictEqual((await taskOf(server, task.id)).status, 'review');
  });

  test('a session that vanishes, cannot be spawned or hangs there blocks its task, which waits where nobody is let in [WK-19 WK-23 WK-24]', async (t) => {
    const sessions = await sessionServer(t);
    const args = ['--runner', 'http', '--sessions-url', sessions.url];
    startWorker(t, server, 'http-2', { args });
    const gone = await makeTask(server, { title: 'vanishes', owner: 'http-2' });
    await until('the spawn', () => sessions.spawned.length === 1);
    sessions.end(String(sessions.spawned[0]?.['sessionLabel']), null);
    match(String((await untilTask(server, gone.id, 'blocked')).metadata['errorReason']), /vanished/);
    // It may have been at work all the same.
    deepStrictEqual(sessions.deleted, [sessions.spawned[0]?.['sessionLabel']]);
    sessions.refuse = 500;
    const refused = await makeTask(server, { title: 'refused', owner: 'http-2' });
    match(
      String((await untilTask(server, refused.id, 'blocked')).metadata['errorReason']),
      /could not be begun/,
    );
    sessions.refuse = 'hang';
    const hangs = await makeTask(server, { title: 'hangs', owner: 'http-2', timeoutMs: 500 });
    await untilTask(server, hangs.id, 'blocked');
    // No task could begin there: this one waits.
    sessions.refuse = 401;
    const waits = await makeTask(server, { title: 'waits', owner: 'http-2' });
    await until('it was put off', async () => {
      const { body } = await server.head.get<{ logs: { text: string }[] }>(`/jobs/${waits.id}/logs`);
      return body.logs.some(({ text }) => text.startsWith('Put off: The session could not be begun'));
    });
    sessions.refuse = null;
    const [, spawned] = await until('it begins', () =>
      sessions.spawned.length > 1 ? sessions.spawned : null,
    );
    sessions.end(String(spawned?.['sessionLabel']), { completed: true });
    strictEqual((await untilTask(server, waits.id, 'done')).attempts, 1);
    const before = sessions.deleted.length;
    const endless = await makeTask(server, { title: 'endless', owner: 'http-2', timeoutMs: 500 });
    await untilTask(server, endless.id, 'blocked');
    strictEqual(sessions.deleted.length - before, 1);
    await untilBeat(server, 'http-2', 'idle');
  });
});
