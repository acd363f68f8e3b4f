import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { until } from '../support/clock.ts';
import { httpProxy } from '../support/http-proxy.ts';
import { startServer, type TestServer } from '../support/server.ts';
import { envOf, spine, words } from './support.ts';

let server: TestServer;
before(async () => {
  server = await startServer();
});
after(() => server.stop());

const terminal = { columns: 100, rows: 30 };
const ENTER = '\x1b[?1049h';
const LEAVE = '\x1b[?1049l';

for (const key of ['q', '\x03']) {
  test(`top draws a screen and gives the terminal back on ${JSON.stringify(key)}`, async () => {
    await server.head.post('/jobs', { target: 'nobody', title: 'Seen in top' });
    let pressed = false;
    const { code, stdout } = await spine(words('top --interval 100ms'), {
      env: envOf(server),
      terminal,
      watch: (printed, person) => {
        // The second picture is the first that has rates.
        if (pressed || !printed.includes('/s created')) return;
        pressed = true;
        person.press(key);
      },
    });
    assert.equal(code, 0);
    assert.ok(stdout.startsWith(ENTER), 'enters the other screen');
    assert.ok(stdout.endsWith(LEAVE), 'leaves it');
    assert.match(stdout, /Seen in top/);
  });
}

test('top without a terminal says what to do instead', async () => {
  const { code, stderr } = await spine(['top'], { env: envOf(server) });
  assert.equal(code, 2);
  assert.equal(stderr, 'spine: top needs a terminal. Use: npx spine top --once\n');
});

test('Ctrl-C ends a waiting command with 130 and no further word', async (t) => {
  const proxy = await httpProxy(t, server.url);
  const { body } = await server.head.post<{ id: string }>('/jobs', { target: 'nobody' });
  const env = { ...envOf(server), SPINE_URL: proxy.url };
  for (const [line, call] of [
    ['events tail', '/events'],
    [`jobs wait ${body.id}`, `/jobs/${body.id}`],
    [`jobs logs ${body.id} -f`, `/jobs/${body.id}/logs`],
    ['jobs claim --wait 20s', '/jobs/claim'],
  ] as const) {
    const asked = until(line, () => proxy.calls.some(({ path }) => path.startsWith(call)));
    const { code, stderr } = await spine(words(line), { env, interruptWhen: asked });
    proxy.calls.length = 0;
    assert.equal(code, 130, line);
    assert.doesNotMatch(stderr, /Interrupted|spine:/, line);
  }
});

test('a person is asked before several jobs are cancelled, and may decline', async () => {
  const ids = await Promise.all(
    [1, 2].map(async () => (await server.head.post<{ id: string }>('/jobs', { target: 'nobody' })).body.id),
  );
  const answering = (answer: string) =>
    spine(['jobs', 'cancel', ...ids], {
      env: envOf(server),
      terminal,
      watch: (printed, person) => {
        if (printed.endsWith('[y/N] ')) person.press(answer);
      },
    });
  const declined = await answering('n\n');
  assert.equal(declined.code, 1);
  assert.match(declined.stderr, /^Cancel 2 jobs\? \[y\/N\] spine: Nothing was done\.\n$/);
  assert.equal((await answering('y\n')).code, 0);
});

test('--no-input and --yes ask nothing', async () => {
  for (const flag of ['--no-input', '--yes']) {
    const { body } = await server.head.post<{ id: string }>('/jobs', { target: 'nobody' });
    const { code, stderr } = await spine(['jobs', 'cancel', body.id, body.id, flag], {
      env: envOf(server),
      terminal,
    });
    assert.equal(code, 0);
    assert.equal(stderr, '');
  }
});

test('the beginning of an id names a job, and several candidates are listed', async () => {
  const made = await Promise.all(
    ['one', 'two'].map(
      async (title) =>
        (await server.head.post<{ id: string; no: number }>('/jobs', { title, target: 'nobody' })).body,
    ),
  );
  const [one] = made;
  const unique = await spine(['jobs', 'get', one?.id.slice(0, 30) ?? '', '--quiet'], { env: envOf(server) });
  assert.equal(unique.stdout, `${one?.id}\n`);
  const several = await spine(['jobs', 'get', one?.id.slice(0, 6) ?? ''], { env: envOf(server) });
  assert.equal(several.code, 2);
  assert.match(
    several.stderr,
    /^spine: [0-9a-f]{6} begins the ids of several jobs: #\d+ [^\n]+\. Write more of it\.\n$/,
  );
});

test('jobs wait tells on a terminal where the job stands, and clears that away; elsewhere it tells the end alone', async () => {
  const { body } = await server.head.post<{ id: string; no: number }>('/jobs', { target: 'left-claw' });
  const claimed = await server.left.post<{ leaseToken: string }>(`/jobs/${body.id}/claim`);
  const { leaseToken } = claimed.body;
  const progress = 'half \x1b[2J of it';
  await server.left.post(`/jobs/${body.id}/heartbeat`, { leaseToken, progress });
  let ended: Promise<unknown> | null = null;
  const watched = await spine(['jobs', 'wait', body.id], {
    env: envOf(server),
    terminal,
    watch: (printed) => {
      if (printed.includes('half'))
        ended ??= server.left.post(`/jobs/${body.id}/complete`, { leaseToken, result: 'all of it' });
    },
  });
  assert.equal(watched.code, 0);
  assert.match(watched.stdout, /all of it/);
  assert.match(
    watched.stderr,
    new RegExp(`^\\r\\x1b\\[K#${body.no} running by left-claw for \\d+\\w+: half \\\\x1b`),
  );
  assert.ok(watched.stderr.endsWith('\r\x1b[K'));
  const piped = await spine(['jobs', 'wait', body.id], { env: envOf(server) });
  assert.deepEqual([piped.code, piped.stderr], [0, '']);
});

test('jobs add takes whole jobs from a file, a parent, and somebody who has to agree', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'spine-add-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'jobs.jsonl');
  writeFileSync(file, '{"spec":"one"}\n{"spec":"two","target":"right-claw"}\n');
  const add = async (line: string) => await spine(words(`jobs add ${line} --json`), { env: envOf(server) });
  const { stdout } = await add(`--file ${file} --tag filed`);
  const { jobs } = JSON.parse(stdout) as { jobs: { spec: string; target: string; tags: string[] }[] };
  assert.deepEqual(
    jobs.map(({ spec, target, tags }) => [spec, target, ...tags]),
    [
      ['one', 'left-claw', 'filed'],
      ['two', 'right-claw', 'filed'],
    ],
  );
  const parent = await server.head.post<{ id: string; no: number }>('/jobs', { target: 'left-claw' });
  await server.left.post(`/jobs/${parent.body.id}/claim`);
  const child = JSON.parse((await add(`more --parent ${parent.body.no} --approval`)).stdout) as object;
  const { parentId, state } = child as { parentId: string; state: string };
  assert.deepEqual([parentId, state], [parent.body.id, 'awaiting_approval']);
  for (const [line, says] of [
    [`x --file ${file}`, /or name a --file, not both/],
    [`--file ${folder}/none`, /none cannot be read \(ENOENT\)/],
  ] as const) {
    const { code, stdout: told } = await add(line);
    assert.equal(code, 2);
    assert.match(told, says);
  }
});

test('a time without a zone is one of this machine, and of the zone of a schedule', async (t) => {
  const zone = process.env['TZ'];
  t.after(() => {
    if (zone === undefined) delete process.env['TZ'];
    else process.env['TZ'] = zone;
  });
  process.env['TZ'] = 'America/New_York';
  const env = envOf(server);
  for (const [written, iso] of [
    ['2027-01-01T09:00', '2027-01-01T14:00:00.000Z'],
    ['2027-01-01', '2027-01-01T05:00:00.000Z'],
    ['2027-01-01T09:00Z', '2027-01-01T09:00:00.000Z'],
    ['2027-01-01T09:00+0200', '2027-01-01T07:00:00.000Z'],
  ]) {
    const { stdout } = await spine(words(`jobs add x --run-at ${written} --json`), { env });
    assert.equal((JSON.parse(stdout) as { runAt: string }).runAt, iso, written);
  }
  const line = 'schedules add --name Once --message x --at 2027-01-01T09:00 --tz Europe/Stockholm --json';
  const { stdout } = await spine(words(line), { env });
  assert.equal((JSON.parse(stdout) as { schedule_at: string }).schedule_at, '2027-01-01T08:00:00.000Z');
});
