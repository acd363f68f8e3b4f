import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { delimiter, join } from 'node:path';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { test } from 'node:test';
import { eventually, openScene } from '../scheduler/support.ts';
import { startServer } from '../support/server.ts';

/** Every setting that is a secret, and one of another program. */
const SECRETS = {
  SPINE_WEBHOOK_URL: 'http://127.0.0.1:9/hook?key=seen-0123456789abcdef',
  SPINE_WEBHOOK_SECRET: 'seen-webhook-0123456789abcdef',
  OPENCLAW_GATEWAY_TOKEN: 'seen-gateway-0123456789abcdef',
  OPENCLAW_HOOK_TOKEN: 'seen-hook-0123456789abcdef',
  RIGHT_CLAW_TOKENS: 'seen-right-0123456789abcdef',
  AWS_SECRET_ACCESS_KEY: 'seen-other-0123456789abcdef',
};

/** Prints the environment of the command's parent, of that one's parent, and so on up to the process of this test. */
const SPY = `pid=$PPID; while [ "$pid" -gt 1 ] && [ "$pid" != ${process.pid} ]; do echo "== $pid"; \
tr '\\0' '\\n' < /proc/$pid/environ; tr '\\0' ' ' < /proc/$pid/cmdline; \
pid=$(sed 's/.*) . //' /proc/$pid/stat | cut -d' ' -f1); done`;

/** The one that runs the tests, and one that is too old to run the server itself, where there is one. */
function nodes(): string[] {
  const found = (process.env['PATH'] ?? '').split(delimiter).map((folder) => join(folder, 'node'));
  const old = found.find(
    (file) => existsSync(file) && /^v(20|22|23)\./.test(execFileSync(file, ['-v'], { encoding: 'utf8' })),
  );
  return old === undefined ? [process.execPath] : [process.execPath, old];
}

test('the command of OpenClaw is not given the settings of the server, and keeps its own', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'spine-cli-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const [cli, seen] = [join(folder, 'openclaw'), join(folder, 'seen')];
  writeFileSync(cli, `#!/bin/sh\nenv > ${seen}\n`, { mode: 0o755 });
  const { OPENCLAW_HOOK_TOKEN: _, ...secrets } = SECRETS;
  await using scene = await openScene({
    token: secrets.OPENCLAW_GATEWAY_TOKEN,
    env: { ...secrets, OPENCLAW_CLI: cli, OPENCLAW_PROFILE: 'desk' },
  });
  const made = await scene.plan({ name: 'wake', session_target: 'main', payload_message: 'good morning' });
  assert.equal((await scene.ended(await scene.run(made))).status, 'ok');
  const given = readFileSync(seen, 'utf8');
  const { head, left } = scene.server.tokens;
  for (const secret of [head, left, SECRETS.RIGHT_CLAW_TOKENS, SECRETS.SPINE_WEBHOOK_SECRET])
    assert.ok(!given.includes(secret), given);
  for (const own of ['OPENCLAW_PROFILE=desk', `OPENCLAW_GATEWAY_TOKEN=${secrets.OPENCLAW_GATEWAY_TOKEN}`])
    assert.ok(given.split('\n').includes(own), given);
});

const linuxOnly = process.platform === 'linux' ? false : 'only Linux shows environments in /proc';

test('a shell command finds no secret in the environment of the server or of its launcher', {
  skip: linuxOnly,
}, async () => {
  for (const node of nodes()) {
    await using server = await startServer({ node, env: { SPINE_SHELL: 'on', ...SECRETS } });
    const made = await server.head.post<{ id: string }>('/schedules', {
      name: 'spy',
      schedule_kind: 'manual',
      session_target: 'shell',
      payload_message: SPY,
    });
    const { body } = await server.head.post<{ run_id: string }>(`/schedules/${made.body.id}/run`, {});
    const output = await eventually('the command has ended', 20_000, async () => {
      const run = await server.head.get<{ finished_at: string | null; output: string }>(
        `/runs/${body.run_id}`,
      );
      return run.body.finished_at === null ? null : run.body.output;
    });
    assert.match(output, /^== \d+$/m);
    // Names stay, so that the test sees that it looked at the right place.
    assert.match(output, /^HEAD_TOKEN=$/m, output);
    assert.doesNotMatch(output, /seen-/);
    const { head, left, right } = server.tokens;
    for (const token of [head, left, right]) assert.ok(!output.includes(token), output);
    // The server still has them.
    assert.equal((await server.right.get('/jobs')).status, 200);
  }
});
