import { deepStrictEqual, ok, rejects, strictEqual } from 'node:assert';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { systemPlatform } from '../../src/client/platform.ts';
import { groupGone } from '../../src/worker/process-group.ts';
import { killLeftovers } from '../../src/worker/shell-leftovers.ts';
import { GuardedProgram } from '../../src/worker/sessions/guardian.ts';
import { processesOf, until, untilGone } from '../support/worker-process.ts';

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

let waitedMs = 0;
/** Waits for nothing, and counts. */
const quick = {
  ...systemPlatform,
  after: (ms: number, task: () => void) => {
    waitedMs += ms;
    setImmediate(task);
    return () => undefined;
  },
};

function isThere(group: number): boolean {
  try {
    return process.kill(-group, 0);
  } catch {
    return false;
  }
}

/** Those of the group that have not ended, by number. */
function livingOf(group: number): string[] {
  return readdirSync('/proc').filter((name) => {
    if (!/^\d+$/.test(name)) return false;
    try {
      const stat = readFileSync(`/proc/${name}/stat`, 'utf8');
      const [state, , inGroup] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      return Number(inGroup) === group && state !== 'Z' && state !== 'X';
    } catch {
      return false;
    }
  });
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

test('an end is not told before the whole group is gone [WK-23]', async () => {
  for (let i = 0; i < 10; i++) {
    const { program } = run(
      'for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do sleep 600 & done; echo done',
    );
    deepStrictEqual(await program.ended, { exitCode: 0, lost: null });
    deepStrictEqual(livingOf(program.pid ?? 0), []);
  }
});

test('a group that does not end is waited for so long and no longer [WK-23]', async () => {
  const child = spawn('/bin/sleep', ['600'], { detached: true, stdio: 'ignore' });
  const group = child.pid ?? 0;
  waitedMs = 0;
  strictEqual(await groupGone(quick, group), false);
  ok(waitedMs >= 3_000 && waitedMs < 4_000, `${waitedMs}`);
  child.kill('SIGKILL');
  await once(child, 'exit');
  strictEqual(await groupGone(quick, group), true);
});

test('nobody is told that what was left of a session has ended while some of it is at work [WK-23]', async (t) => {
  const session = `agent:main:guardian.3:${process.pid}`;
  const child = spawn('/bin/sleep', ['600'], { env: { SPINE_SESSION_ID: session }, stdio: 'ignore' });
  t.after(() => child.kill('SIGKILL'));
  // Not even the system can end it.
  const kill = t.mock.method(process, 'kill', () => true);
  const ending = killLeftovers(quick, session, 'SPINE_SESSION_ID');
  await rejects(ending, { message: `Processes of ${session} could not be ended: ${child.pid}.` });
  kill.mock.restore();
  strictEqual(await killLeftovers(systemPlatform, session, 'SPINE_SESSION_ID'), 1);
});

test('a process that has ended and was not collected holds up nobody [WK-23]', async (t) => {
  // The shell that began it is somebody else by now, who does not look after it.
  const script = 'setsid sh -c "exit 0" & echo $!; exec sleep 60';
  const parent = spawn('/bin/sh', ['-c', script], { stdio: ['ignore', 'pipe', 'inherit'] });
  t.after(() => parent.kill('SIGKILL'));
  const [first] = (await once(parent.stdout, 'data')) as [Buffer];
  const group = Number(first.toString().trim());
  // Its number is said before it has a group of its own.
  await until('it has ended', () => isThere(group) && livingOf(group).length === 0);
  strictEqual(await groupGone(systemPlatform, group), true);
});

test('a program that ignores a polite word is ended all the same [WK-23]', async () => {
  const { program, printed } = run(`trap '' TERM; echo ready; while :; do sleep 1; done`);
  await until('it runs', () => printed().includes('ready'));
  await program.kill();
  strictEqual((await program.ended).exitCode, null);
  await until('the group is gone', () => !isThere(program.pid ?? 0));
});

test('a program dies with whoever began it, kill -9 included, and so does what left its group [WK-23 WK-32]', async (t) => {
  const session = `agent:main:guardian.1:${process.pid}`;
  const other = spawn('/bin/sleep', ['600'], { env: { SPINE_SESSION_ID: `${session}0` }, stdio: 'ignore' });
  t.after(() => other.kill('SIGKILL'));
  const parent = spawn(process.execPath, [PARENT, session], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [first] = (await once(parent.stdout, 'data')) as [Buffer];
  const group = Number(first.toString().trim());
  ok(isThere(group));
  parent.kill('SIGKILL');
  await until('the group is gone', () => !isThere(group));
  await untilGone(session);
  deepStrictEqual(processesOf(`${session}0`), [other.pid]);
});

test('a program whose guardian hears nothing ends by itself [WK-34]', async () => {
  // The clock of whoever began it stands still.
  const frozen = { ...systemPlatform, after: () => () => undefined };
  const session = `agent:main:guardian.2:${process.pid}`;
  const program = new GuardedProgram(frozen, {
    command: ['/bin/sh', '-c', 'setsid sleep 600 & sleep 600'],
    cwd: '/',
    env: { PATH: process.env['PATH'] ?? '', SPINE_SESSION_ID: session },
    input: '',
    silenceMs: 400,
    onOutput: () => undefined,
  });
  await until('the group is gone', () => !isThere(program.pid ?? 0));
  await untilGone(session);
});
