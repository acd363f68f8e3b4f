import { deepStrictEqual, match, ok, strictEqual, throws } from 'node:assert';
import { readdirSync, readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { suite, test, type TestContext } from 'node:test';
import { type Door, doorFinder } from '../../src/http/door.ts';
import { DOORS } from '../../src/http/doors.ts';
import { describeApi } from '../../src/http/openapi.ts';
import { type Answer, type HttpClient, httpClient, type RequestOptions } from '../support/http.ts';
import { desk } from './desk/door.ts';
import { CLERK_KEY, MANAGER_KEY } from './desk/keys.ts';
import type { Description } from './description.ts';
import { openServer } from './server.ts';

interface Ticket {
  readonly number: number;
  readonly subject: string;
  readonly status: string;
}

const doors: readonly Door[] = [...DOORS, desk];
const as = (key: string): RequestOptions => ({ headers: { 'x-desk-key': key } });
const clerk = as(CLERK_KEY);
const manager = as(MANAGER_KEY);

suite('a third door, from one folder and the list of doors', () => {
  test('shows the same jobs as the others, each in its own words', async (t) => {
    const { caller, spine } = await openDesk(t);
    const { status, body } = await caller.post<{ data: Ticket }>(
      '/desk/tickets',
      { subject: 'Lamp' },
      manager,
    );
    const { number } = body.data;
    strictEqual(status, 201);
    deepStrictEqual(body, { success: true, data: { number, subject: 'Lamp', status: 'open' } });
    const seen = await spine.head.get(`/jobs/${number}`);
    deepStrictEqual([seen.body['status'], seen.body['title']], ['queued', 'Lamp']);

    await caller.post(`/desk/tickets/${number}/take`, {}, clerk);
    deepStrictEqual(await listed(caller, '?status=with-somebody'), [
      { number, subject: 'Lamp', status: 'with-somebody' },
    ]);
    await spine.head.post(`/jobs/${number}/complete`, {});
    deepStrictEqual(await listed(caller, '?status=closed'), [{ number, subject: 'Lamp', status: 'closed' }]);
    deepStrictEqual(await listed(caller, '?status=open'), []);
  });

  test('serves its routes under every one of its prefixes', async (t) => {
    const { caller } = await openDesk(t);
    await caller.post('/api/v1/desk/tickets', { subject: 'Door' }, manager);
    deepStrictEqual(
      (await listed(caller, '')).map(({ subject }) => subject),
      ['Door'],
    );
  });

  test('refuses in its own shape and words, whatever is wrong', async (t) => {
    const { caller, spine } = await openDesk(t);
    const { body } = await caller.post<{ data: Ticket }>('/desk/tickets', { subject: 'Lamp' }, manager);
    const take = `/desk/tickets/${body.data.number}/take`;
    await caller.post(take, {}, clerk);
    await spine.head.post(`/jobs/${body.data.number}/complete`, {});
    const no = (code: string, error: string, rest: object = {}) => ({ success: false, error, code, ...rest });
    deepStrictEqual(await refused(caller.post(take, {}, clerk)), [
      409,
      no('terminal_status', 'This job has ended.', { ticket_status: 'closed' }),
    ]);
    deepStrictEqual(await refused(caller.post('/desk/tickets', {}, manager)), [
      400,
      no('bad_request', 'subject is required.'),
    ]);
    deepStrictEqual(await refused(caller.get('/desk/nothing', clerk)), [
      404,
      no('not_found', 'There is no such path.'),
    ]);
    strictEqual(
      (await refused(caller.request('PUT', '/desk/tickets', clerk)))[1]['code'],
      'method_not_allowed',
    );
    const json = { 'content-type': 'application/json', 'x-desk-key': MANAGER_KEY };
    const broken = caller.request('POST', '/api/v1/desk/tickets', { raw: '{', headers: json });
    strictEqual((await refused(broken))[1]['code'], 'bad_json');
    const unreadable = caller.get('/desk/tickets/%zz', clerk);
    strictEqual((await refused(unreadable))[1]['success'], false);
    const foreign = caller.get('/desk/tickets', { headers: { host: 'evil.test' } });
    strictEqual((await refused(foreign))[1]['code'], 'bad_host');
  });

  test('knows its callers by its own credentials, and them alone', async (t) => {
    const { caller, spine } = await openDesk(t);
    const nobody = await caller.get('/desk/tickets');
    deepStrictEqual([nobody.status, nobody.body['error']], [401, 'Show your key.']);
    strictEqual(nobody.headers['www-authenticate'], 'DeskKey');
    // The same path, spelled otherwise.
    strictEqual((await caller.get('/%64esk/tickets')).body['error'], 'Show your key.');
    strictEqual((await caller.get('/desk/tickets', as('guess'))).body['error'], 'Nobody has this key.');
    deepStrictEqual(await refused(caller.post('/desk/tickets/1/take', {}, manager)), [
      403,
      { success: false, error: 'Not for a manager.', code: 'forbidden' },
    ]);
    const bearer = { headers: { authorization: `Bearer ${spine.tokens.head}` } };
    strictEqual((await caller.get('/desk/tickets', bearer)).status, 401);
    const elsewhere = await caller.get('/jobs', clerk);
    deepStrictEqual([elsewhere.status, elsewhere.body['error']], [401, 'unauthorized']);
    strictEqual(elsewhere.headers['www-authenticate'], 'Bearer');
  });

  test('leaves the paths and the shape of the others as they are', async (t) => {
    const { caller, spine } = await openDesk(t);
    for (const path of ['/nothing', '/desks', '/schedules/a/b/c', '/api/v1/jobs']) {
      const { status, body } = await caller.get(path);
      deepStrictEqual([status, body['error'], body['retryable']], [404, 'not_found', false], path);
    }
    match(await bytesBack(spine.port, 'no http at all\r\n\r\n'), /"error":"bad_request"/);
  });

  test('stands in the description with its routes, credentials, shapes and refusals', () => {
    const all = JSON.parse(JSON.stringify(describeApi(doors, 'test'))) as Description & {
      components: { securitySchemes: object };
    };
    const before = JSON.parse(JSON.stringify(describeApi(DOORS, 'test'))) as Description;
    for (const [path, methods] of Object.entries(before.paths)) deepStrictEqual(all.paths[path], methods);
    deepStrictEqual(
      Object.keys(all.paths).filter((path) => !(path in before.paths)),
      desk.routes
        .map(({ path }) => path.replace(':id', '{id}'))
        .filter((path, i, all) => all.indexOf(path) === i),
    );
    const { post } = all.paths['/desk/tickets/{id}/take'] ?? {};
    deepStrictEqual(post?.security, [{ deskKey: [] }]);
    deepStrictEqual(Object.keys(all.components.securitySchemes), [
      'token',
      'tokenOrLoopback',
      'login',
      'deskKey',
    ]);
    deepStrictEqual(post?.responses['403'], { $ref: '#/components/responses/desk-bad_origin-or-forbidden' });
    const said = all.components.responses['desk-bad_origin-or-forbidden'];
    match(JSON.stringify(said), /"ticket_status"/);
    ok('Ticket' in all.components.schemas);
    deepStrictEqual(
      [post?.tags, all.tags.at(-1)],
      [['desk'], { name: 'desk', description: 'Tickets of the help desk.' }],
    );
    deepStrictEqual(all.tags.slice(0, -1), before.tags);
    const section = JSON.parse(JSON.stringify(describeApi(doors, 'test', 'desk'))) as Description;
    ok(Object.keys(section.paths).every((path) => path.includes('/desk/')));
  });

  test('is called by pages of other origins: what its routes and its credentials read may be sent', async (t) => {
    const origin = 'https://board.example';
    const { port } = await openServer(t, () => ({ doors, allowedOrigins: [origin] }));
    const { headers } = await fetch(`http://127.0.0.1:${port}/desk/tickets`, {
      method: 'OPTIONS',
      headers: { origin, 'access-control-request-method': 'POST' },
    });
    const sent = headers.get('access-control-allow-headers')?.split(', ') ?? [];
    for (const name of ['x-desk-key', 'x-desk-counter', 'mcp-session-id', 'mcp-protocol-version'])
      ok(sent.includes(name), `${name} is not among ${sent.join(', ')}`);
    const answer = await fetch(`http://127.0.0.1:${port}/desk/tickets`, { headers: { origin } });
    const seen = answer.headers.get('access-control-expose-headers')?.split(', ') ?? [];
    for (const name of ['x-desk-counter', 'mcp-session-id'])
      ok(seen.includes(name), `${name}: ${seen.join(', ')}`);
  });

  test('cannot be opened where its routes lie at another door, or where a path would be nobody’s', () => {
    throws(
      () => doorFinder([...DOORS, { ...desk, prefixes: ['/desk'] }]),
      /api\/v1\/desk\/tickets lies under/,
    );
    throws(() => doorFinder([desk]), /No door has the prefix/);
  });

  test('is made as CONTRIBUTING.md says: these files, and every part of a door', () => {
    const page = readFileSync('CONTRIBUTING.md', 'utf8');
    const section = /\n## How to add a door\n([^]*?)\n## /.exec(page)?.[1] ?? '';
    const files = [...section.matchAll(/^\d+\. `(\w+\.ts)`/gm)].map(([, file = '']) => file);
    deepStrictEqual(files.toSorted(), readdirSync('test/http/desk').toSorted());
    for (const part of Object.keys(desk)) match(section, new RegExp(`\`${part}\``));
  });
});

async function openDesk(t: TestContext) {
  const spine = await openServer(t, () => ({ doors }));
  const caller = httpClient(spine.url);
  t.after(() => caller.close());
  return { spine, caller };
}

async function listed(caller: HttpClient, query: string): Promise<readonly Ticket[]> {
  const { body } = await caller.get<{ data: readonly Ticket[] }>(`/desk/tickets${query}`, manager);
  return body.data;
}

async function refused(
  answer: Promise<Answer<Record<string, unknown>>>,
): Promise<[number, Record<string, unknown>]> {
  const { status, body } = await answer;
  return [status, body];
}

function bytesBack(port: number, text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let all = '';
    const socket = connect(port, '127.0.0.1', () => socket.write(text));
    socket.setEncoding('utf8').on('data', (data: string) => (all += data));
    socket.on('close', () => resolve(all)).on('error', reject);
  });
}
