import { deepStrictEqual, ok, strictEqual } from 'node:assert';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { systemPlatform } from '../../src/client/platform.ts';
import { GuardedProgram } from '../../src/worker/sessions/guardian.ts';
import { until } from '../support/worker-process.ts';

const PARENT = fileURLToPath(new URL('guardian-parent.ts', import.meta.url));

function run(script: string, more: { readonly silenceMs?: number; readonly input?: string } = {}) {
  let printed = '';
  const program = new GuardedProgram(systemPlatform, {
    command: ['/bin/sh', '-c', script],
    cwd: '/',
    env: { PATH: process.env['PATH'] ?? '' },
    input: more.input ?? '',
    silenceMs: more.silenceMs ?? 60_000,
    onOutput: (chunk, from) => (printed += `${from}: ${chunk.toString()}`),
  });
  return { program, printed: () => printed };
}

function isThere(group: number): boolean {
  try {
    return process.kill(-group, 0);
  } catch {
    return false;
  }
}

test('a program has its input, its output and its exit code [WK-18]', async () => {
  const { program, printed } = run('cat; exit 3', { input: 'hello' });
  deepStrictEqual(await program.ended, { exitCode: 3, lost: null });
  strictEqual(printed(), 'stdout: hello');
});

test('what a program leaves in the background ends with it [WK-23]', async () => {
  const { program } = run('sleep 600 & echo done');
  deepStrictEqual(await program.ended, { exitCode: 0, lost: null });
  await until('the group is gone', () => !isThere(program.pid ?? 0));
});

test('a program that ignores a polite word is ended all the same [WK-23]', async () => {
  const { program, printed } = run(`trap '' TERM; echo ready; while :; do sleep 1; done`);
  await until('it runs', () => printed().includes('ready'));
  await program.kill();
  strictEqual((await program.ended).exitCode, null);
  await until('the group is gone', () => !isThere(program.pid ?? 0));
});

test('a program dies with whoever began it, kill -9 included [WK-23 WK-32]', async () => {
  const parent = spawn(process.execPath, [PARENT], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [first] = (await once(parent.stdout, 'data')) as [Buffer];
  const group = Number(first.toString().trim());
  ok(isThere(group));
  parent.kill('SIGKILL');
  await until('the group is gone', () => !isThere(group));
});

test('a program whose guardian hears nothing ends by itself [WK-34]', async () => {
  // The clock of whoever began it stands still.
  const frozen = { ...systemPlatform, after: () => () => undefined };
  const program = new GuardedProgram(frozen, {
    command: ['/bin/sleep', '600'],
    cwd: '/',
    env: { PATH: process.env['PATH'] ?? '' },
    input: '',
    silenceMs: 200,
    onOutput: () => undefined,
  });
  await until('the group is gone', () => !isThere(program.pid ?? 0));
});
