import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { ShellProcess } from '../../src/worker/shell-process.ts';
import { FakePlatform } from '../client/support.ts';
import { until } from '../support/clock.ts';
import { isAlive } from './fixtures.ts';

const folder = mkdtempSync(join(tmpdir(), 'spine-process-'));
after(() => rmSync(folder, { recursive: true, force: true }));

/** A real command whose end is timed by a clock that only the test moves. */
async function begun(command: (file: string) => string) {
  const platform = new FakePlatform();
  const file = join(folder, randomUUID());
  const shell = new ShellProcess(platform, command(file), { PATH: process.env['PATH'] ?? '/usr/bin:/bin' });
  const end = shell.go();
  await until('it has begun', () => existsSync(file) && readFileSync(file, 'utf8').endsWith('\n'));
  return { platform, shell, end, child: Number(readFileSync(file, 'utf8')) };
}

test('a command that does not heed the request to stop is killed a second after it, with everything it started', async () => {
  const { platform, shell, end, child } = await begun(
    (file) => `trap "" TERM; sleep 60 & echo $! > ${file}; while :; do wait; done`,
  );
  const killed = shell.kill();
  await platform.advance(999);
  assert.deepEqual(
    [isAlive(shell.pid ?? 0), isAlive(child)],
    [true, true],
    'it was given less than a second',
  );
  await platform.advance(1);
  await killed;
  assert.equal((await end).signal, 'SIGKILL');
  await until('its child is gone', () => !isAlive(child));
});

test('a command that stops when it is asked to is not waited for', async () => {
  const { shell, end } = await begun((file) => `echo $$ > ${file}; exec sleep 60`);
  // The clock stands still: whatever waits for time waits for ever.
  await shell.kill();
  assert.equal((await end).signal, 'SIGTERM');
});

test('what a command left behind keeps its end for half a second, and no longer', async () => {
  const { platform, end, child } = await begun((file) => `sleep 60 & echo $! > ${file}; echo said`);
  let over = false;
  void end.then(() => (over = true));
  await until('the command itself has ended', () => platform.pending > 0);
  await platform.advance(499);
  assert.equal(over, false);
  await platform.advance(1);
  assert.deepEqual(await end, { exitCode: 0, signal: null, stdout: 'said\n', stderr: '' });
  process.kill(child);
});
