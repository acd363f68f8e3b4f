import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Actions, buildProgram } from '../../src/cli/program.ts';
import { run } from '../../src/cli/run.ts';

/** Runs a command line with actions that only note their arguments, or fail as told. */
async function spine(line: string, failure?: Error) {
  const calls: unknown[] = [];
  const printed: string[] = [];
  const note =
    (name: string) =>
    async (...args: unknown[]) => {
      calls.push([name, ...args]);
      if (failure) throw failure;
    };
  const actions: Actions = {
    serve: note('serve'),
    config: note('config'),
    rebuild: note('rebuild'),
    backup: note('backup'),
  };
  const program = buildProgram(actions, '1.2.3');
  for (const command of [program, ...program.commands]) {
    command.configureOutput({
      writeOut: (text) => printed.push(text),
      writeErr: (text) => printed.push(text),
    });
  }
  const warned: string[] = [];
  const code = await run(program, line.split(' ').filter(Boolean), (text) => warned.push(text));
  return { code, calls, warned, printed: printed.join('') };
}

const understood: readonly (readonly [line: string, call: unknown])[] = [
  ['serve', ['serve', {}]],
  ['serve --host ::1 --port 0 --data-dir /d', ['serve', { host: '::1', port: '0', dataDir: '/d' }]],
  ['config', ['config', {}]],
  ['config --json', ['config', { json: true }]],
  ['rebuild --data-dir /d', ['rebuild', { dataDir: '/d' }]],
  ['backup copy.db', ['backup', 'copy.db', {}]],
  ['backup copy.db --data-dir /d', ['backup', 'copy.db', { dataDir: '/d' }]],
];
for (const [line, call] of understood) {
  test(`spine ${line} is understood`, async () => {
    const { code, calls } = await spine(line);
    assert.equal(code, 0);
    assert.deepEqual(calls, [call]);
  });
}

const misused: readonly (readonly [line: string, says: RegExp])[] = [
  ['', /Examples:[^]*Usage: spine/],
  ['serv', /unknown command 'serv'\n\(Did you mean serve\?\)/],
  ['serve --prot 1', /unknown option '--prot'\n\(Did you mean --port\?\)/],
  ['serve --port', /argument missing/],
  ['serve extra', /too many arguments/],
  ['backup', /missing required argument 'file'/],
];
for (const [line, says] of misused) {
  test(`spine ${line || 'alone'} is wrong usage and exits with 2`, async () => {
    const { code, calls, printed } = await spine(line);
    assert.equal(code, 2);
    assert.deepEqual(calls, []);
    assert.match(printed, says);
  });
}

test('asking for the version or for help is a success', async () => {
  assert.deepEqual(await spine('--version'), { code: 0, calls: [], warned: [], printed: '1.2.3\n' });
  for (const line of ['--help', 'help', 'serve --help', 'help serve']) {
    const { code, printed } = await spine(line);
    assert.equal(code, 0, line);
    assert.match(printed, /^Examples:\n {2}\S/, line);
  }
});

test('a failed command prints one line without a stack and exits with 1', async () => {
  const { code, warned } = await spine('serve', new Error('the disk is gone'));
  assert.deepEqual({ code, warned }, { code: 1, warned: ['spine: the disk is gone'] });
});

test('a failure that brings its exit code exits with it', async () => {
  const { code } = await spine('serve', Object.assign(new Error('locked'), { exitCode: 78 }));
  assert.equal(code, 78);
});

test('a failed connection to several addresses names each, not an empty message', async () => {
  const failure = new AggregateError([new Error('refused by ::1'), new Error('refused by 127.0.0.1')]);
  const { warned } = await spine('serve', failure);
  assert.deepEqual(warned, ['spine: refused by ::1; refused by 127.0.0.1']);
});
