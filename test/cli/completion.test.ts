import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { startServer, type TestServer } from '../support/server.ts';
import { envOf, spine } from './support.ts';

const BIN = join(import.meta.dirname, '../../bin/spine.cjs');
let server: TestServer;
before(async () => {
  server = await startServer();
  await server.head.request('PUT', '/types/digest', { body: { label: 'A digest' } });
  await server.head.request('PUT', '/pools/gpu', { body: { capacity: 1 } });
  await server.head.post('/jobs', { target: 'printer', title: 'Say \x1b[2J $(touch planted)' });
  await server.head.post('/schedules', {
    name: 'Ned;touch planted',
    schedule: '0 3 * * *',
    payload_message: 'x',
  });
  await server.head.post('/schedules', { name: 'Night', schedule: '0 2 * * *', payload_message: 'x' });
});
after(() => server.stop());

/** What is offered for the last of these words. */
async function offered(...words: readonly string[]): Promise<string[]> {
  const asked = ['completion', 'words', '--', ...words.slice(0, -1), `=${words.at(-1)}`];
  const { code, stdout, stderr } = await spine(asked, { env: envOf(server) });
  assert.deepEqual([code, stderr], [0, '']);
  return stdout.split('\n').slice(0, -1);
}

const names = (lines: readonly string[]): string[] => lines.map((line) => line.split('\t')[0] ?? '');

test('completion offers commands and options, by what is typed so far, and says what they are', async () => {
  assert.deepEqual(names(await offered('jobs', 're')).toSorted(), ['redrive', 'release', 'remove', 'retry']);
  assert.deepEqual(await offered('jobs', 'add', '--max-'), [
    '--max-attempts\thow many times it runs at most',
  ]);
  assert.ok(names(await offered('')).includes('serve'));
  assert.ok(names(await offered('help', 'jo')).includes('jobs'));
  assert.ok(names(await offered('--url', 'http://x', 'jobs', 'li')).includes('list'));
});

test('completion offers values: states and roles, and the types, targets, pools, jobs and schedules of the server', async () => {
  assert.deepEqual(names(await offered('jobs', 'list', '--state', 'd')), ['done', 'dead']);
  assert.deepEqual(names(await offered('--as', '')), ['head', 'left-claw', 'right-claw']);
  assert.deepEqual(await offered('jobs', 'add', '--type', ''), ['digest\tA digest']);
  assert.deepEqual(names(await offered('jobs', 'list', '-t', 'p')), ['printer']);
  assert.deepEqual(names(await offered('jobs', 'add', '--pool', '')), ['gpu']);
  assert.deepEqual(await offered('jobs', 'get', ''), ['1\tqueued Say \\x1b[2J $(touch planted)']);
  assert.deepEqual(names(await offered('jobs', 'cancel', '1', '')), ['1'], 'one of many');
  assert.deepEqual(names(await offered('schedules', 'get', 'N')), ['Night']);
  const all = names(await offered('schedules', 'get', ''));
  assert.equal(all.length, 2);
  assert.ok(
    all.every((word) => word === 'Night' || /^[0-9a-f-]{36}$/.test(word)),
    'a name that is more than a word',
  );
});

test('completion says nothing of a server that is not there', async () => {
  const { code, stdout, stderr } = await spine(['completion', 'words', '--', 'jobs', 'get', '='], {
    env: { ...envOf(server), SPINE_URL: 'http://127.0.0.1:9' },
  });
  assert.deepEqual([code, stdout, stderr], [0, '', '']);
});

test('bash completes commands and values by the script, and runs no word of an answer', async () => {
  const { stdout: script } = await spine(['completion', 'bash']);
  for (const [typed, last, words] of [
    ['jobs li', 2, 'list'],
    ['jobs list --state d', 4, 'done dead'],
    ["jobs get ''", 3, '1'],
  ] as const) {
    const asks = `COMP_WORDS=('${BIN}' ${typed}); COMP_CWORD=${last}; _spine; echo "\${COMPREPLY[@]}"`;
    const bash = spawn('bash', ['-c', `${script}\n${asks}`], { env: { ...process.env, ...envOf(server) } });
    let said = '';
    bash.stdout.on('data', (text) => (said += String(text)));
    await once(bash, 'close');
    assert.equal(said.trim(), words, typed);
  }
});

for (const shell of ['bash', 'zsh', 'fish', 'powershell']) {
  test(`the completion for ${shell} is a script for the command by its name`, async () => {
    const { code, stdout } = await spine(['completion', shell]);
    assert.equal(code, 0);
    assert.match(stdout, /^(#compdef spine\n)?# spine completion for /);
    assert.match(stdout, /completion words -- /);
  });
}
