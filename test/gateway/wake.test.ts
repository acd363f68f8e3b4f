import { deepStrictEqual, match, strictEqual } from 'node:assert';
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { failsAs, open } from './support.ts';

const HOOK_TOKEN = 'hook-token-of-the-stand-in';

/** A command in the place of `openclaw` that writes down its arguments, one in a line. */
async function command(
  t: TestContext,
  script: string,
): Promise<{ cli: string; args: () => Promise<string[]> }> {
  const folder = await mkdtemp(join(tmpdir(), 'spine-wake-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const cli = join(folder, 'openclaw');
  await writeFile(cli, `#!/bin/sh\nprintf '%s\\n' "$@" > "${folder}/args"\n${script}\n`);
  await chmod(cli, 0o755);
  return { cli, args: async () => (await readFile(join(folder, 'args'), 'utf8')).trimEnd().split('\n') };
}

test('with a hook token a text reaches the main session over /hooks/wake [SC-07]', async (t) => {
  const { gateway, standIn } = await open(t, { hookToken: HOOK_TOKEN });
  await gateway.wake('the report is due', 'main');
  const [request] = standIn.requests('/hooks/wake');
  strictEqual(request?.headers['authorization'], `Bearer ${HOOK_TOKEN}`);
  deepStrictEqual(request?.body, { text: 'the report is due', mode: 'now', agentId: 'main' });
});

test('without a hook token the text goes through openclaw system event [SC-07]', async (t) => {
  const { cli, args } = await command(t, `echo '{"ok":true}'`);
  const { gateway, standIn } = await open(t, { cli });
  await gateway.wake('$(reboot); "the report" is due', 'main');
  deepStrictEqual(await args(), [
    'system',
    'event',
    '--text',
    '$(reboot); "the report" is due',
    '--mode',
    'now',
    '--json',
  ]);
  await gateway.wake('hello', 'ops');
  deepStrictEqual((await args()).slice(-2), ['--session-key', 'agent:ops:main']);
  strictEqual(standIn.state.recorded.length, 0);
});

test('a command that fails or hangs fails with its own words', async (t) => {
  const failing = await command(t, 'echo "gateway closed (1006)" >&2; exit 1');
  const { gateway } = await open(t, { cli: failing.cli });
  match((await failsAs(gateway.wake('hello', 'main'), 'failed', false)).message, /gateway closed \(1006\)/);
  const hanging = await command(t, 'exec sleep 60');
  const slow = await open(t, { cli: hanging.cli, limits: { commandMs: 200 } });
  await failsAs(slow.gateway.wake('hello', 'main'), 'timeout', false);
});

test('a gateway without hook token and command says what is missing', async (t) => {
  const { gateway } = await open(t);
  const error = await failsAs(gateway.wake('hello', 'main'), 'refused', false);
  match(error.message, /not installed, and there is no hook token/);
});

test('a wrong hook token, a drain and an absent gateway are told apart', async (t) => {
  const wrong = await open(t, { hookToken: 'wrong' });
  await failsAs(wrong.gateway.wake('hello', 'main'), 'unauthorized', false);
  const { gateway, standIn } = await open(t, { hookToken: HOOK_TOKEN });
  standIn.state.draining = true;
  await failsAs(gateway.wake('hello', 'main'), 'draining', false);
  await standIn.down();
  await failsAs(gateway.wake('hello', 'main'), 'down', false);
});

test('a text that cannot be passed on is refused', async (t) => {
  const { gateway } = await open(t, { hookToken: HOOK_TOKEN });
  await failsAs(gateway.wake('\0 ', 'main'), 'refused', false);
  await failsAs(gateway.wake('x'.repeat(200_000), 'main'), 'refused', false);
  await failsAs(gateway.wake('hello', '--help'), 'refused', false);
});
