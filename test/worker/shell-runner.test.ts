import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { spawn } from 'node:child_process';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, suite, test } from 'node:test';
import { type ClaimedJob, JobFailure, JobInterrupted } from '../../src/client/index.ts';
import { type Platform, systemPlatform } from '../../src/client/platform.ts';
import { ShellCommands } from '../../src/app/shell-commands.ts';
import { KeptOutput } from '../../src/worker/kept-output.ts';
import { ShellRunner } from '../../src/worker/shell-runner.ts';
import { claimedJob, FakePlatform } from '../client/support.ts';
import { until } from '../support/clock.ts';
import { heldLease, isAlive, MemoryLog, MemoryNotes, PARENT, planOf, runJob } from './fixtures.ts';

const folder = mkdtempSync(join(tmpdir(), 'spine-shell-'));
after(() => rmSync(folder, { recursive: true, force: true }));
const fresh = (): string => join(folder, randomUUID());

/** The same process that a server has its commands started by. */
const commands = new ShellCommands(systemPlatform);
after(() => commands.stop());

/** The commands themselves would take a minute. How long it takes exactly is in shell-process.test.ts. */
const SOON_MS = 20_000;

function setUp(
  plan = planOf({ command: 'true', payload_message: undefined }),
  platform: Platform = systemPlatform,
) {
  const notes = new MemoryNotes();
  const log = new MemoryLog();
  const inherited = { PATH: process.env['PATH'] ?? '/usr/bin:/bin', HOME: folder };
  const runner = new ShellRunner({
    platform,
    commands,
    notes,
    log,
    inherited,
    url: 'http://127.0.0.1:1',
  });
  const start = (spec: string, fields: Partial<ClaimedJob> = {}) => {
    const lease = heldLease();
    const job = runJob(plan, { id: randomUUID(), target: 'shell', spec, ...fields });
    const end = runner.run(job, lease.context).then(
      (result) => ({ result: result as Record<string, unknown>, error: null }),
      (error: unknown) => ({ result: null, error }),
    );
    return { ...lease, job, end };
  };
  return { notes, log, runner, start };
}

const SHELL = (draft: Record<string, unknown> = {}) =>
  planOf({ payload_message: undefined, command: 'true', ...draft });

function failure(error: unknown): JobFailure & { details: Record<string, unknown> } {
  assert.ok(error instanceof JobFailure, String(error));
  return error as JobFailure & { details: Record<string, unknown> };
}

const pidIn = async (file: string): Promise<number> => {
  await until('the command has begun', () => existsSync(file) && readFileSync(file, 'utf8').endsWith('\n'));
  return Number(readFileSync(file, 'utf8'));
};

suite('a command', () => {
  test('that ends well is told with what it printed, each stream for itself', async () => {
    const { result } = await setUp().start('echo out; echo err >&2; cat; echo last').end;
    assert.deepEqual(result, { exitCode: 0, stdout: 'out\nlast\n', stderr: 'err\n' });
  });

  test('that ends badly fails with its exit code and what it printed', async () => {
    const { error } = await setUp().start('echo out; echo err >&2; exit 3').end;
    const { message, details, cause, requeue } = failure(error);
    assert.deepEqual({ message, cause, requeue }, { message: 'Exit code 3.', cause: null, requeue: true });
    assert.deepEqual(details, { message, exitCode: 3, signal: null, stdout: 'out\n', stderr: 'err\n' });
  });

  test('that was killed from outside says by what', async () => {
    const { error } = await setUp().start('kill -KILL $$').end;
    assert.equal(failure(error).details['signal'], 'SIGKILL');
  });

  test('begins only after its group was written down', async () => {
    const { notes, start } = setUp();
    const file = fresh();
    let begunWhenNoted = true;
    const begin = notes.begin.bind(notes);
    notes.begin = async (job, note) => {
      await new Promise((resolve) => setTimeout(resolve, 100));
      begunWhenNoted = existsSync(file);
      return begin(job, note);
    };
    await start(`touch ${file}`).end;
    assert.equal(begunWhenNoted, false);
    assert.ok(existsSync(file));
    assert.match(notes.note?.sessionKey ?? '', /^shell:\d+$/);
  });

  test('never begins when its group could not be written down', async () => {
    const { notes, start } = setUp();
    const file = fresh();
    notes.begin = () => Promise.reject(new Error('no disk'));
    const { error } = await start(`touch ${file}`).end;
    assert.equal((error as Error).message, 'no disk');
    assert.equal(existsSync(file), false);
  });

  test('finds little in its environment, and none of the server’s secrets', async () => {
    process.env['OPENCLAW_GATEWAY_TOKEN'] = 'secret';
    process.env['HEAD_TOKEN'] = 'secret';
    const plan = planOf(
      { payload_message: undefined, command: 'true', delivery_guarantee: 'at-least-once' },
      { trigger: { ...PARENT, exitCode: 0, stderr: '' } },
    );
    const { job, end } = setUp(plan).start('env');
    const stdout = String((await end).result?.['stdout']);
    delete process.env['OPENCLAW_GATEWAY_TOKEN'];
    delete process.env['HEAD_TOKEN'];
    const env = new Map(
      stdout
        .trim()
        .split('\n')
        .map((line) => line.split('=', 2) as [string, string]),
    );
    // These the shell sets itself.
    for (const name of ['PWD', 'SHLVL', '_', 'OLDPWD']) env.delete(name);
    assert.deepEqual([...env.keys()].toSorted(), [
      'HOME',
      'PATH',
      'SPINE_IDEMPOTENCY_KEY',
      'SPINE_RUN_ID',
      'SPINE_TOKEN',
      'SPINE_TRIGGER_EXIT_CODE',
      'SPINE_TRIGGER_NAME',
      'SPINE_TRIGGER_OUTPUT',
      'SPINE_TRIGGER_RUN_ID',
      'SPINE_TRIGGER_SCHEDULE_ID',
      'SPINE_TRIGGER_STATUS',
      'SPINE_TRIGGER_STDERR',
      'SPINE_URL',
    ]);
    assert.equal(env.get('SPINE_RUN_ID'), job.id);
    assert.equal(env.get('SPINE_TOKEN'), `run.${job.id}.${job.leaseToken}`);
    assert.equal(env.get('SPINE_TRIGGER_OUTPUT'), 'XYZ');
  });

  test('that prints without end is kept in part: its beginning and its end', async () => {
    const { result } = await setUp().start('echo first; head -c 1000000 /dev/zero | tr "\\0" x; echo last')
      .end;
    const stdout = String(result?.['stdout']);
    assert.ok(stdout.length < 66_000, `${stdout.length}`);
    assert.ok(stdout.startsWith('first\n') && stdout.endsWith('xlast\n'));
    assert.match(stdout, /\n\[\.\.\. \d+ bytes left out \.\.\.\]\n/);
  });

  test('that leaves something running in the background does not wait for it', async () => {
    const startedAt = performance.now();
    const { result } = await setUp().start('sleep 60 & echo $!').end;
    assert.ok(performance.now() - startedAt < SOON_MS);
    process.kill(Number(result?.['stdout']));
  });

  test('of a job that no schedule made is never run, whatever it pretends', async () => {
    const { runner } = setUp();
    const file = fresh();
    const job = claimedJob({ target: 'shell', spec: `touch ${file}`, meta: SHELL() });
    await assert.rejects(runner.run(job, heldLease().context), { name: 'JobFailure', requeue: false });
    assert.equal(existsSync(file), false);
  });
});

suite('a command that must stop', () => {
  for (const why of ['cancelled', 'lease_lost', 'timeout'] as const) {
    test(`is ended with everything it started, soon: ${why}`, async () => {
      const file = fresh();
      const { end, interrupt } = setUp().start(`trap "" TERM; sleep 60 & echo $! > ${file}; wait; sleep 60`);
      const child = await pidIn(file);
      const startedAt = performance.now();
      interrupt(why);
      const { error } = await end;
      assert.ok(error instanceof JobInterrupted);
      assert.ok(performance.now() - startedAt < SOON_MS, `${performance.now() - startedAt} ms`);
      await until('its child is gone', () => !isAlive(child));
    });
  }

  test('because of its time limit fails as timed out, with what it printed', async () => {
    const platform = new FakePlatform();
    const file = fresh();
    const command = `echo begun; echo $$ > ${file}; sleep 60`;
    const { end } = setUp(SHELL(), platform).start(command, { timeoutMs: 4_000 });
    const pid = await pidIn(file);
    await platform.advance(3_999);
    assert.equal(isAlive(pid), true, 'it was ended before its time');
    await platform.advance(1);
    const { error } = await end;
    assert.equal(failure(error).cause, 'timeout');
    assert.equal(failure(error).requeue, true);
    assert.equal(failure(error).details['stdout'], 'begun\n');
  });

  for (const [guarantee, replayed] of [
    ['at-most-once', false],
    ['at-least-once', true],
  ] as const) {
    test(`because the server stops counts as crashed; ${guarantee}`, async () => {
      const file = fresh();
      const { start } = setUp(SHELL({ delivery_guarantee: guarantee }));
      const { end, interrupt } = start(`echo $$ > ${file}; sleep 60`);
      await pidIn(file);
      interrupt('shutdown');
      const { error } = await end;
      assert.deepEqual([failure(error).cause, failure(error).requeue], ['crashed', replayed]);
    });
  }
});

test('a command that must stop before it began does not begin, and leaves no note', async () => {
  const { notes, start } = setUp();
  const file = fresh();
  const { end, interrupt } = start(`touch ${file}`);
  interrupt('shutdown');
  assert.ok((await end).error instanceof JobInterrupted);
  assert.equal(existsSync(file), false);
  assert.deepEqual(notes.written, ['begin', 'takeBack']);
});

suite('a command that an earlier server began', () => {
  for (const [guarantee, replayed] of [
    ['at-most-once', false],
    ['at-least-once', true],
  ] as const) {
    test(`is ended first, and crashed; ${guarantee} [SC-61]`, async () => {
      const { notes, log, start } = setUp(SHELL({ delivery_guarantee: guarantee }));
      const file = fresh();
      const id = randomUUID();
      const env = { PATH: process.env['PATH'], SPINE_RUN_ID: id };
      const leftover = spawn('/bin/sh', ['-c', 'sleep 60'], { env, detached: true, stdio: 'ignore' });
      const other = spawn('/bin/sh', ['-c', 'sleep 60'], { detached: true, stdio: 'ignore' });
      notes.earlier = { sessionKey: `shell:${other.pid}`, transport: 'shell', at: 1 };
      const { error } = await start(`touch ${file}`, { id }).end;
      assert.deepEqual([failure(error).cause, failure(error).requeue], ['crashed', replayed]);
      assert.equal(existsSync(file), false);
      if (existsSync('/proc/self/environ')) {
        await until('the leftover is gone', () => !isAlive(leftover.pid ?? 0));
        // A number alone proves nothing.
        assert.equal(isAlive(other.pid ?? 0), true);
      }
      other.kill('SIGKILL');
      leftover.kill('SIGKILL');
      assert.equal(log.lines.length, 1);
    });
  }
});

test('what is kept of an output is exact up to its limit', () => {
  const kept = new KeptOutput(10);
  for (const piece of ['ab', 'cdefg', 'hij']) kept.add(Buffer.from(piece));
  assert.equal(kept.toString(), 'abcdefghij');
  kept.add(Buffer.from('klmnopqrstuvwxyz'));
  assert.equal(kept.toString(), 'abcde\n[... 16 bytes left out ...]\nvwxyz');
});

suite('the process that starts commands', () => {
  test('has nothing of the server in its environment', async () => {
    const { result } = await setUp().start("tr '\\0' '\\n' < /proc/$PPID/environ | cut -d= -f1").end;
    const names = String(result?.['stdout'])
      .split('\n')
      .filter((name) => !name.startsWith('NODE_CHANNEL'));
    assert.deepEqual(names, ['']);
  });

  test('is started again when it died; what it watched has crashed and is ended', async () => {
    const file = fresh();
    const { start } = setUp(SHELL({ delivery_guarantee: 'at-least-once' }));
    const long = start(`echo $$ > ${file}; sleep 60`);
    const pid = await pidIn(file);
    await start('kill -KILL $PPID').end;
    const { cause, requeue } = failure((await long.end).error);
    assert.deepEqual({ cause, requeue }, { cause: 'crashed', requeue: true });
    await until('the command is gone', () => !isAlive(pid));
    // The first to come after a silent death may be put off; nothing was begun.
    await start('true').end;
    assert.deepEqual((await start('echo again').end).result?.['stdout'], 'again\n');
  });

  test('ends when there was nothing to do for a while, and comes back', async () => {
    let idle = (): void => assert.fail('nobody waits for its end');
    const mine = new ShellCommands({
      after: (_ms, task) => {
        idle = task;
        return () => undefined;
      },
    });
    const parentOf = async (): Promise<number> => {
      const command = await mine.start('echo $PPID', { PATH: '/usr/bin:/bin' });
      const { stdout } = await command.go();
      command.closed();
      return Number(stdout);
    };
    try {
      const first = await parentOf();
      idle();
      assert.notEqual(await parentOf(), first);
      await until('it has ended', () => !isAlive(first));
    } finally {
      await mine.stop();
    }
  });
});
