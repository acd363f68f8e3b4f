import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Command } from 'commander';
import type { Handler } from '../../src/cli/command.ts';
import { EXIT as SERVER_EXIT } from '../../src/app/start-error.ts';
import { EXIT } from '../../src/cli/failure.ts';
import { buildProgram } from '../../src/cli/program.ts';
import { spine, words } from './support.ts';

/** Parses a command line and notes what would have been called, and with what. */
async function understand(line: string) {
  const calls: { args: readonly string[]; options: object; handler: Handler }[] = [];
  const program = buildProgram(
    (load) =>
      async (...params) => {
        const command = params.at(-1) as Command;
        const handler = (await load()) as Handler;
        calls.push({ args: command.args, options: command.optsWithGlobals(), handler });
      },
    '1.2.3',
  );
  await program.parseAsync(words(line), { from: 'user' });
  return calls[0];
}

const DEFAULTS = { color: true, input: true };

const understood: readonly (readonly [line: string, args: readonly string[], options: object])[] = [
  ['serve --host ::1 --port 0 --data-dir /d', [], { host: '::1', port: '0', dataDir: '/d' }],
  ['config --json', [], { json: true }],
  ['--json config', [], { json: true }],
  ['backup snapshot --to /b --data-dir /d', [], { to: '/b', dataDir: '/d' }],
  ['backup restore 2026-11-17/02-05-33 --force', ['2026-11-17/02-05-33'], { force: true }],
  ['jobs add "two words" --tag a --tag b -p -3', ['two words'], { tag: ['a', 'b'], priority: -3 }],
  ['jobs add -', ['-'], {}],
  ['jobs ls -n 5 --quiet', [], { limit: 5, quiet: true }],
  ['jobs wait 1 2 --timeout 1.5s', ['1', '2'], { timeout: 1500 }],
  ['jobs fail 1 broken --no-requeue', ['1', 'broken'], { requeue: false }],
  ['jobs claim --wait 30', [], { wait: 30_000 }],
  ['pools', [], {}],
  ['--no-color --no-input jobs get 1', ['1'], { color: false, input: false }],
  [
    'status --url http://h:1 --token t --as right-claw',
    [],
    { url: 'http://h:1', token: 't', as: 'right-claw' },
  ],
];
for (const [line, args, options] of understood) {
  test(`spine ${line} is understood`, async () => {
    const call = await understand(line);
    assert.deepEqual(call?.args, args);
    assert.deepEqual({ ...call?.options }, { ...DEFAULTS, ...call?.options, ...options });
  });
}

test('every command can be loaded, and has examples and a description', async () => {
  const loads: Promise<Handler>[] = [];
  const program = buildProgram((load) => {
    loads.push(load() as Promise<Handler>);
    return () => Promise.resolve();
  }, '');
  const handlers = await Promise.all(loads);
  assert.ok(handlers.length > 30, `only ${handlers.length} commands`);
  for (const handler of handlers) assert.equal(typeof handler, 'function');
  const check = (command: Command): void => {
    assert.notEqual(command.description(), '', command.name());
    command.commands.forEach(check);
  };
  check(program);
});

const misused: readonly (readonly [line: string, says: RegExp])[] = [
  ['serv', /^spine: Unknown command 'serv' \(Did you mean serve\?\)\. See: npx spine --help\n$/],
  [
    'serve --prot 1',
    /^spine: Unknown option '--prot' \(Did you mean --port\?\)\. See: npx spine serve --help\n$/,
  ],
  ['jobs lst', /^spine: Unknown command 'lst' \(Did you mean .*\)\. See: npx spine jobs --help\n$/],
  ['help nope', /^spine: Unknown command 'nope'[^\n]*\. See: npx spine --help\n$/],
  [
    'help jobs lst',
    /^spine: Unknown command 'lst' \(Did you mean .*list.*\)\. See: npx spine jobs --help\n$/,
  ],
  ['serve --port', /^spine: Option '--port <port>' argument missing\. See: npx spine serve --help\n$/],
  ['serve extra', /^spine: Too many arguments for 'serve'\.[^\n]*\n$/],
  ['backup copy.db', /^spine: Unknown command 'copy\.db'\. See: npx spine backup --help\n$/],
  ['jobs list -n many', /^spine: [^\n]*It must be a whole number\.[^\n]*\n$/],
  ['jobs wait 1 --timeout soon', /^spine: [^\n]*Write a duration like [^\n]*\n$/],
  ['--url ftp://x status', /^spine: --url must be an http or https address, not "ftp:\/\/x"\.\n$/],
  ['completion tcsh', /^spine: There is no completion for tcsh\. Write bash, zsh, fish or powershell\.\n$/],
];
for (const [line, says] of misused) {
  test(`spine ${line} is told in one line and exits with 2`, async () => {
    const { code, stdout, stderr } = await spine(words(line));
    assert.equal(code, 2);
    assert.equal(stdout, '');
    assert.match(stderr, says);
  });
}

test('help says what --help says, of whichever command', async () => {
  for (const line of ['', 'jobs', 'jobs add', 'serve']) {
    const asked = await spine(words(`help ${line}`));
    const { code, stdout } = await spine(words(`${line} --help`));
    assert.deepEqual([asked.code, asked.stdout], [code, stdout], line);
  }
  assert.match((await spine(words('jobs help add'))).stdout, /^Usage: spine jobs add /m);
});

test('wrong usage with --json is told as JSON on standard output', async () => {
  const { code, stdout, stderr } = await spine(['jobs', 'list', '--nonsense', '--json']);
  assert.equal(code, 2);
  assert.equal(stderr, '');
  assert.deepEqual(JSON.parse(stdout), {
    ok: false,
    error: 'usage',
    message: "Unknown option '--nonsense'.",
    hint: 'See: npx spine jobs list --help',
    exitCode: 2,
  });
});

test('spine alone, or a group alone, prints its help on standard error and exits with 2', async () => {
  for (const line of ['', 'jobs', 'token']) {
    const { code, stdout, stderr } = await spine(words(line));
    assert.equal(code, 2, line);
    assert.equal(stdout, '');
    assert.match(stderr, /^Examples:\n {2}spine [^]*Usage: spine/, line);
  }
});

test('asking for the version or for help is a success', async () => {
  assert.deepEqual(await spine(['--version']), { code: 0, stdout: '0.1.0\n', stderr: '' });
  for (const line of ['--help', 'help', 'serve --help', 'help serve', 'jobs add --help']) {
    const { code, stdout } = await spine(words(line));
    assert.equal(code, 0, line);
    assert.match(stdout, /^Examples:\n {2}\S/, line);
  }
});

test('the help lists every exit code', async () => {
  const { stdout } = await spine(['--help']);
  const codes = [...Object.values(EXIT), ...Object.values(SERVER_EXIT)];
  assert.ok(codes.length > 12);
  for (const code of codes) assert.match(stdout, new RegExp(`^ +${code}  \\w`, 'm'));
});

test('wrong settings are all named and exit with 78', async () => {
  const env = { LEASE_SECONDS: 'abc', SPINE_PROT: '1' };
  const { code, stderr } = await spine(['jobs', 'list'], { env });
  assert.equal(code, 78);
  assert.equal(
    stderr,
    'spine: SPINE_PROT is not a setting; did you mean SPINE_PORT?\nspine: LEASE_SECONDS=abc is not a whole number of seconds\n',
  );
});
