import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { stripVTControlCharacters } from 'node:util';
import { startServer, type TestServer } from '../support/server.ts';
import { envOf, spine, steersTerminal, words } from './support.ts';

/** Clears the screen, sets the window's title, turns the text around, ends a line. */
const HOSTILE = '\x1b[2J\x1b]0;owned\x07\u009b31m\u202egnp.exe\r\nspine: all is well';

let server: TestServer;
let id = '';
before(async () => {
  server = await startServer();
  const { body } = await server.head.post<{ id: string }>('/jobs', {
    target: 'any',
    title: HOSTILE,
    description: HOSTILE,
    spec: { [HOSTILE]: HOSTILE },
  });
  ({ id } = body);
  await server.left.post(`/jobs/${id}/claim`);
  await server.left.post(`/jobs/${id}/heartbeat`, { progress: HOSTILE });
  await server.left.post(`/jobs/${id}/logs`, { lines: [{ text: HOSTILE }] });
  await server.head.post(`/jobs/${id}/comment`, { text: HOSTILE });
});
after(() => server.stop());

for (const line of [
  'jobs list',
  'jobs get $id --events',
  'jobs logs $id',
  'top --once',
  'events tail --after 0 -n 4',
]) {
  for (const json of ['', ' --json']) {
    test(`spine ${line}${json} lets nothing of a hostile job through to the terminal`, async () => {
      const { code, stdout, stderr } = await spine(words(`${line.replace('$id', id)}${json} --no-color`), {
        env: envOf(server),
        terminal: { columns: 200, rows: 50 },
      });
      assert.equal(code, 0);
      assert.match(stdout, /owned/);
      assert.ok(!steersTerminal(stdout + stderr));
      assert.doesNotMatch(stdout + stderr, /^spine: all is well/m);
    });
  }
}

test('colours are only those of the command itself', async () => {
  const { stdout } = await spine(['jobs', 'list'], {
    env: envOf(server),
    terminal: { columns: 120, rows: 50 },
  });
  assert.ok(stdout.includes('\x1b[34mrunning\x1b[39m'));
  assert.ok(!steersTerminal(stripVTControlCharacters(stdout)));
});

test('a table fits the terminal', async () => {
  const { stdout } = await spine(words('jobs list --no-color'), {
    env: envOf(server),
    terminal: { columns: 80, rows: 50 },
  });
  for (const line of stdout.trimEnd().split('\n')) assert.ok(line.length <= 80, line);
});
