import { deepStrictEqual, match, ok, rejects, strictEqual } from 'node:assert';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { spine as run } from '../cli/support.ts';
import { FakeClock, until } from '../support/clock.ts';
import { openServer } from '../http/server.ts';
import { httpClient } from '../support/http.ts';
import { ENTRY, type Json, openClient, resultIn, TRANSPORTS } from './support.ts';

type Spine = Awaited<ReturnType<typeof openServer>>;
type Headers = Readonly<Record<string, string>>;

const PING = { jsonrpc: '2.0', id: 1, method: 'ping' };
const NEWEST = '2025-11-25';

suite('the MCP door', () => {
  test('speaks the version that is asked for, and else its newest', async (t) => {
    const spine = await openServer(t);
    for (const [asked, spoken] of [
      ['2025-11-25', '2025-11-25'],
      ['2025-06-18', '2025-06-18'],
      ['2025-03-26', '2025-03-26'],
      ['1999-01-01', NEWEST],
      [undefined, NEWEST],
    ]) {
      const { body, headers } = await begin(spine, asked);
      strictEqual((body['result'] as Json)['protocolVersion'], spoken);
      match(String(headers['mcp-session-id']), /^[\w-]{32}$/);
    }
    const foreign = await post(spine, PING, { 'mcp-protocol-version': '1999-01-01' });
    deepStrictEqual([foreign.status, foreign.body['field']], [400, 'MCP-Protocol-Version']);
  });

  test('takes notifications and answers without a word, and has no stream to GET', async (t) => {
    const spine = await openServer(t);
    const silent = await post(spine, { jsonrpc: '2.0', method: 'notifications/initialized' });
    deepStrictEqual([silent.status, silent.text], [202, '']);
    strictEqual((await post(spine, { jsonrpc: '2.0', id: 1, result: {} })).status, 202);
    const got = await spine.head.get('/mcp', { headers: { accept: 'text/event-stream' } });
    deepStrictEqual([got.status, got.headers['allow']], [405, 'POST, DELETE']);
  });

  test('takes several messages at once only in versions that have that', async (t) => {
    const spine = await openServer(t);
    const both = [PING, { jsonrpc: '2.0', method: 'notifications/initialized' }, { ...PING, id: 'b' }];
    const old = await post<Json[]>(spine, both, { 'mcp-protocol-version': '2025-03-26' });
    deepStrictEqual(
      old.body.map(({ id }) => id),
      [1, 'b'],
    );
    const silent = await post(spine, [both[1]]);
    strictEqual(silent.status, 202);
    strictEqual((await post(spine, both, { 'mcp-protocol-version': NEWEST })).status, 400);
    for (const wrong of [
      [],
      [PING, PING],
      Array.from({ length: 51 }, (_, id) => ({ ...PING, id })),
      [{ ...PING, method: 'initialize' }, PING],
    ])
      strictEqual((await post(spine, wrong)).status, 400);
  });

  test('refuses what is no message, and stays as it was', async (t) => {
    const spine = await openServer(t);
    for (const [body, code] of [
      ['{', 'bad_json'],
      ['"text"', 'bad_request'],
      ['null', 'bad_request'],
      ['{}', 'bad_request'],
      ['{"jsonrpc":"1.0","id":1,"method":"ping"}', 'bad_request'],
      ['{"jsonrpc":"2.0","id":null,"method":"ping"}', 'bad_request'],
      ['{"jsonrpc":"2.0","id":1.5,"method":"ping"}', 'bad_request'],
      ['{"jsonrpc":"2.0","id":{},"method":"ping"}', 'bad_request'],
      ['{"jsonrpc":"2.0","id":1,"method":7}', 'bad_request'],
      ['{"jsonrpc":"2.0","id":1,"method":"ping","params":[1]}', 'bad_request'],
      [`{"jsonrpc":"2.0","id":"${'x'.repeat(300)}","method":"ping"}`, 'bad_request'],
      [`{"jsonrpc":"2.0","id":1,"method":"ping","params":${'['.repeat(200)}${']'.repeat(200)}}`, 'bad_json'],
      ['{"jsonrpc":"2.0","id":1,"method":"ping","params":{"__proto__":{"a":1}}}', 'bad_request'],
    ] as const) {
      const { status, body: answer } = await post(spine, body);
      deepStrictEqual([status, answer['error']], [400, code], body);
    }
    const unknown = await post(spine, { ...PING, method: 'nothing/here' });
    deepStrictEqual([unknown.status, (unknown.body['error'] as Json)['code']], [200, -32601]);
    const xml = await post(spine, '<xml/>', { 'content-type': 'text/xml' });
    strictEqual(xml.status, 415);
    const foreign = await post(spine, PING, { origin: 'https://evil.test' });
    strictEqual(foreign.status, 403);
    strictEqual((await post(spine, PING)).status, 200);
  });

  test('tells of wrong arguments as a result, naming the field, and changes nothing', async (t) => {
    const spine = await openServer(t);
    await using head = await openClient('http', { url: spine.url, token: spine.tokens.head });
    for (const [tool, given, field] of [
      ['create_job', { target: 'left-claw', specc: 'x' }, 'specc'],
      ['create_job', { target: 5 }, 'target'],
      ['create_job', { priority: 1e9 }, 'priority'],
      ['get_job', {}, 'id'],
      ['get_job', { id: { a: 1 } }, 'id'],
      ['list_jobs', { limit: 500 }, 'limit'],
      ['list_jobs', { limit: 'many' }, 'limit'],
      ['attach_artifact', { id: '1', filename: 'x' }, 'content'],
      ['read_field', { id: '1', field: '' }, 'field'],
    ] as const) {
      const answer = await head.call(tool, given);
      deepStrictEqual([answer.refused, answer['field']], ['bad_request', field], JSON.stringify(given));
      ok(typeof answer['hint'] === 'string' && answer['retryable'] === false);
    }
    for (const [tool, given, message] of [
      ['list_jobs', { sate: 'dead' }, 'sate is not an argument of list_jobs; did you mean state?'],
      ['wait_for_job', { id: 1, timeout: '5s' }, 'timeout is not an argument of wait_for_job.'],
      ['get_stats', { target: 'any' }, 'target is not an argument of get_stats.'],
      ['create_job', { titel: 'x' }, 'titel is not an argument of create_job; did you mean title?'],
    ] as const) {
      const answer = await head.call(tool, given);
      deepStrictEqual([answer.refused, answer['message']], ['bad_request', message]);
    }
    strictEqual((await head.call('get_job', { id: 'nothing' })).refused, 'not_found');
    deepStrictEqual((await spine.head.get('/jobs')).body, { jobs: [] });
    for (const name of ['nothing', 'claim_jobs'])
      await head.client.callTool({ name, arguments: {} }).then(
        () => ok(false),
        (error: Error & { code: number }) => strictEqual(error.code, -32602),
      );
  });

  test('shows each caller the tools that it may use, with their effects and the fields of the API', async (t) => {
    const spine = await openServer(t);
    const shown = async (token: string) => {
      await using one = await openClient('http', { url: spine.url, token });
      return (await one.client.listTools()).tools;
    };
    const viewer = await spine.head.post<{ token: string }>('/tokens', { name: 'eyes', role: 'viewer' });
    const [head, claw, eyes] = await Promise.all([
      shown(spine.tokens.head),
      shown(spine.tokens.left),
      shown(viewer.body.token),
    ]);
    const names = (tools: typeof head) => new Set(tools.map(({ name }) => name));
    ok(names(head).has('create_schedule') && !names(head).has('claim_jobs'));
    ok(names(claw).has('claim_jobs') && !names(claw).has('approve'));
    ok(eyes.length > 5 && eyes.every(({ annotations }) => annotations?.readOnlyHint === true));
    const tool = (name: string) => [...head, ...claw].find((one) => one.name === name);
    deepStrictEqual(tool('claim_jobs')?.inputSchema.properties?.['waitMs'], {
      ...(tool('claim_jobs')?.inputSchema.properties?.['waitMs'] as object),
      type: 'integer',
      minimum: 0,
      maximum: 50_000,
    });
    deepStrictEqual(tool('complete_job')?.annotations, {
      title: 'End a job well',
      readOnlyHint: false,
      destructiveHint: true,
      idempotentHint: true,
      openWorldHint: false,
    });
    const held = await claim(spine);
    await using run = await openClient('http', {
      url: spine.url,
      token: `run.${held.id}.${held.leaseToken}`,
    });
    const ofRun = names((await run.client.listTools()).tools);
    ok(ofRun.has('complete_job') && !ofRun.has('claim_jobs') && !ofRun.has('list_jobs'));
    strictEqual((await run.call('complete_job', { id: held.id, result: 'by its run' }))['status'], 'done');
  });

  test('is reached by the program that an entry names, started elsewhere and with no variables, as a worker', async (t) => {
    const spine = await openServer(t);
    const folder = await mkdtemp(join(tmpdir(), 'spine-mcp-'));
    t.after(() => rm(folder, { recursive: true }));
    const { head, left } = spine.tokens;
    await writeFile(join(folder, 'server.json'), JSON.stringify({ url: spine.url, pid: process.pid }));
    await writeFile(join(folder, 'tokens.json'), JSON.stringify({ head, left_claw: left }));
    const { stdout } = await run(['mcp', 'install', 'cursor', '--stdio', '--dry-run', '--json'], {
      env: { SPINE_DATA_DIR: folder },
      machine: { node: process.execPath, entry: ENTRY },
    });
    const { entry } = JSON.parse(stdout) as { entry: { command: string; args: string[] } };
    const client = new Client({ name: 'test', version: '1.0.0' });
    t.after(() => client.close());
    // The client of the SDK passes on PATH, HOME and the like.
    await client.connect(new StdioClientTransport({ ...entry, cwd: tmpdir() }));
    const me = resultIn(await client.callTool({ name: 'who_am_i', arguments: {} }));
    strictEqual(me['role'], 'worker', JSON.stringify(me));
    const names = (await client.listTools()).tools.map(({ name }) => name);
    ok(names.includes('claim_jobs') && !names.includes('approve'));
  });

  test('ends a session for good, and takes up one that it does not know', async (t) => {
    const spine = await openServer(t);
    const { headers } = await begin(spine);
    const session = { 'mcp-session-id': String(headers['mcp-session-id']) };
    strictEqual((await post(spine, PING, session)).status, 200);
    const remove = (given: Headers) => spine.head.request('DELETE', '/mcp', { headers: given });
    deepStrictEqual([(await remove({})).status, (await remove(session)).status], [400, 204]);
    const after = await post(spine, PING, session);
    deepStrictEqual([after.status, after.body['error']], [404, 'not_found']);
    strictEqual((await remove(session)).status, 404);
    strictEqual((await post(spine, PING, { 'mcp-session-id': 'no session of ours' })).status, 404);
    // As after a restart, or behind a balancer.
    strictEqual((await post(spine, PING, { 'mcp-session-id': 'a'.repeat(32) })).status, 200);
  });

  test('calls off a wait that its client does not want any more, and hands nothing out for it', async (t) => {
    const spine = await openServer(t);
    await using claw = await openClient('http', { url: spine.url, token: spine.tokens.left });
    const ending = new AbortController();
    const given = { name: 'claim_jobs', arguments: { waitMs: 50_000 } };
    const waiting = claw.client.callTool(given, undefined, { signal: ending.signal });
    await waits(spine, 1);
    ending.abort();
    await waiting.catch(() => undefined);
    await waits(spine, 0);
    await spine.head.post('/jobs', { target: 'left-claw' });
    const { jobs } = (await claw.call('claim_jobs')) as unknown as { jobs: { attempt: number }[] };
    deepStrictEqual(
      jobs.map(({ attempt }) => attempt),
      [1],
    );
  });

  test('gives back what was claimed for a client that has gone', async (t) => {
    const spine = await openServer(t);
    const body = JSON.stringify(call('claim_jobs', { waitMs: 50_000 }));
    const headers = { authorization: `Bearer ${spine.tokens.left}`, 'content-type': 'application/json' };
    const gone = request(`${spine.url}/mcp`, { method: 'POST', headers });
    const closed = new Promise((resolve) => gone.once('close', resolve));
    gone.on('error', () => undefined).end(body);
    await waits(spine, 1);
    gone.destroy();
    await closed;
    await waits(spine, 0);
    const held = await claim(spine);
    strictEqual(held.attempt, 1);
  });

  test('ends the wait of a revoked token at once, and all else that it could do', async (t) => {
    const spine = await openServer(t);
    const made = await spine.head.post<{ token: string; id: string }>('/tokens', {
      name: 'helper',
      role: 'worker',
      targets: ['left-claw'],
    });
    await using helper = await openClient('http', { url: spine.url, token: made.body.token });
    const waiting = helper.call('claim_jobs', { waitMs: 50_000 });
    await waits(spine, 1);
    await spine.head.request('DELETE', `/tokens/${made.body.id}`);
    deepStrictEqual((await waiting)['jobs'], []);
    await rejects(helper.call('get_stats'), { code: 401 });
    const refused = await post(spine, PING, { authorization: `Bearer ${made.body.token}` });
    deepStrictEqual([refused.status, refused.headers['www-authenticate']], [401, 'Bearer']);
  });

  for (const transport of TRANSPORTS) {
    test(`tells a waiting client every five seconds that it still waits, over ${transport}`, async (t) => {
      const clock = new FakeClock();
      const spine = await openServer(t, () => ({ clock }));
      await using claw = await openClient(transport, { url: spine.url, token: spine.tokens.left });
      const heard: number[] = [];
      const given = { name: 'claim_jobs', arguments: { waitMs: 50_000 } };
      const waiting = claw.client.callTool(given, undefined, {
        onprogress: ({ progress }) => heard.push(progress),
      });
      await waits(spine, 1);
      await clock.advance(11_000);
      // The official client forgets progress that it reads together with the answer.
      await until('it has heard twice', () => heard.length === 2);
      await spine.head.post('/jobs', { target: 'left-claw', spec: 'late' });
      const { jobs } = resultIn(await waiting) as unknown as { jobs: Json[] };
      strictEqual(jobs[0]?.['spec'], 'late');
      deepStrictEqual(heard, [5, 10]);
    });

    test(`lets a client wait for a job that another one takes and ends meanwhile, over ${transport}`, async (t) => {
      const clock = new FakeClock();
      const spine = await openServer(t, () => ({ clock }));
      await using head = await openClient(transport, { url: spine.url, token: spine.tokens.head });
      await using claw = await openClient(transport, { url: spine.url, token: spine.tokens.left });
      const { id } = await head.call('create_job', { target: 'left-claw', spec: 'Read the commits' });
      const heard: number[] = [];
      const given = { name: 'wait_for_job', arguments: { id, wait: '50s' } };
      const waiting = head.client.callTool(given, undefined, {
        onprogress: ({ progress }) => heard.push(progress),
      });
      await until('it waits', () => spine.engine.core.ends.size === 1);
      const { leaseToken } = await claw.call('claim_job', { id });
      await clock.advance(6_000);
      await until('it has heard', () => heard.length === 1);
      strictEqual(spine.engine.core.ends.size, 1, 'a claim is no end');
      await claw.call('complete_job', { id, leaseToken, result: { commits: 7 } });
      const ended = resultIn(await waiting);
      deepStrictEqual([ended['ended'], ended['state'], ended['result']], [true, 'done', { commits: 7 }]);
      deepStrictEqual(heard, [5]);
    });
  }

  test('shortens what is too long for a model, never a lease, and reads the rest in parts', async (t) => {
    const spine = await openServer(t);
    const spec = `${'word '.repeat(40_000)}end`;
    for (let i = 0; i < 3; i++) await spine.head.post('/jobs', { target: 'left-claw', spec, meta: { i } });
    await using claw = await openClient('http', { url: spine.url, token: spine.tokens.left });
    const answer = await claw.client.callTool({ name: 'claim_jobs', arguments: { max: 3 } });
    const [content] = answer.content as { text: string }[];
    ok((content?.text.length ?? 0) <= 60_000);
    const { jobs, shortened } = resultIn(answer) as unknown as { jobs: Json[]; shortened: string };
    match(shortened, /read_field/);
    strictEqual(jobs.length, 3);
    for (const job of jobs) match(String(job['spec']), /… \[\d+ more characters\]$/);
    let text = '';
    for (let offset: unknown = 0; offset !== null; ) {
      const part = await claw.call('read_field', { id: jobs[0]?.['id'], field: 'spec', offset });
      text += String(part['text']);
      offset = part['nextOffset'];
    }
    strictEqual(text, spec);
    const ended = await claw.call('complete_job', {
      id: jobs[2]?.['id'],
      leaseToken: jobs[2]?.['leaseToken'],
    });
    strictEqual(ended['status'], 'done');
  });

  test('counts what its messages ask for against the limits of their caller', async (t) => {
    const limit = { most: 1, setting: 'SPINE_TEST' };
    const spine = await openServer(t, ({ callLimits }) => ({
      callLimits: { ...callLimits, openCalls: { ...callLimits.openCalls, worker: limit } },
    }));
    await using claw = await openClient('http', { url: spine.url, token: spine.tokens.left });
    const waiting = claw.call('claim_jobs', { waitMs: 50_000 });
    await waits(spine, 1);
    const refused = await claw.call('list_jobs');
    deepStrictEqual([refused.refused, refused['retryable']], ['rate_limited', true]);
    const { body } = await spine.head.post('/jobs', { target: 'left-claw' });
    const { jobs } = (await waiting) as unknown as { jobs: Json[] };
    strictEqual(jobs[0]?.['id'], body['id']);
  });

  test('looks at a long base64 text once, whatever stands in it', async (t) => {
    const spine = await openServer(t);
    const { id, leaseToken } = await claim(spine);
    const file = (content: string) =>
      spine.left.request<Json>('POST', '/mcp', {
        raw: JSON.stringify(
          call('attach_artifact', { id, leaseToken, filename: 'f', encoding: 'base64', content }),
        ),
        headers: { 'content-type': 'application/json' },
      });
    for (const [content, stored] of [
      ['aGVs\n bG8=\n', true],
      ['aGVsbG8', true],
      ['a=b', false],
      ['aGVsbG8===', false],
      [`${' '.repeat(900_000)}!`, false],
      ['A= '.repeat(300_000), false],
    ] as const) {
      const began = performance.now();
      const { body } = await file(content);
      const { isError = false } = body['result'] as { isError?: boolean };
      strictEqual(isError, !stored, content.slice(0, 20));
      // It took minutes.
      ok(performance.now() - began < 5_000);
    }
  });

  test('shows lists of whatever shape without holding up others for long', async (t) => {
    const spine = await openServer(t);
    const nested = `[${'[[[[[[1]]]]]],'.repeat(25_000)}1]`;
    const raw = `{"target":"left-claw","spec":${nested}}`;
    for (let i = 0; i < 6; i++)
      strictEqual((await spine.head.request('POST', '/jobs', { raw, headers: JSON_TYPE })).status, 201);
    await using head = await openClient('http', { url: spine.url, token: spine.tokens.head });
    const listed = await head.call('list_jobs');
    // A page ends where a model would read no further, and names where the next one begins.
    ok((listed['jobs'] as Json[]).length < 6 && listed['nextCursor'] !== null);
    match(JSON.stringify((listed['jobs'] as Json[])[0]?.['spec']), /more items/);
    await using claw = await openClient('http', { url: spine.url, token: spine.tokens.left });
    const taken = (await claw.call('claim_jobs', { max: 10 }))['jobs'] as Json[];
    ok(taken.length >= 1 && taken.length < 6);
    for (const { leaseToken } of taken) match(String(leaseToken), /^[\w-]{22}$/);
    // What did not fit was not taken.
    const { body } = await spine.head.get<{ jobs: Json[] }>('/jobs?state=running');
    strictEqual(body.jobs.length, taken.length);
  });

  test('bounds what one call brings back, and what is written to a client that does not read', async (t) => {
    const clock = new FakeClock();
    const spine = await openServer(t, () => ({ clock }));
    const lists = Array.from({ length: 50 }, (_, id) => ({ jsonrpc: '2.0', id, method: 'tools/list' }));
    const { body } = await post<Json[]>(spine, lists);
    const full = body.filter((one) => one['error'] !== undefined);
    ok(full.length > 0 && body.length === 50 && JSON.stringify(body).length < 2 * 1_048_576);
    for (const { error } of full) match(String((error as Json)['message']), /Nothing was done/);
    const params = {
      ...(call('claim_jobs', {}) as { params: object }).params,
      _meta: { progressToken: 'x'.repeat(201) },
    };
    const refused = await post(spine, { ...call('claim_jobs', {}), params }, { accept: 'text/event-stream' });
    deepStrictEqual([refused.status, refused.body['field']], [400, 'progressToken']);
  });

  test('counts looks as reads, and lets no limit stand in the way of a heartbeat', async (t) => {
    const limit = { most: 1, setting: 'SPINE_TEST' };
    const spine = await openServer(t, ({ callLimits }) => ({
      callLimits: { ...callLimits, perSecond: { ...callLimits.perSecond, head: limit } },
    }));
    const statuses: number[] = [];
    for (let i = 0; i < 5; i++) statuses.push((await post(spine, PING)).status);
    ok(statuses.includes(429), String(statuses));
    strictEqual((await post(spine, call('nothing', {}))).status, 200);
  });

  test('drops no session that waits for an answer', async (t) => {
    const spine = await openServer(t);
    await using claw = await openClient('http', { url: spine.url, token: spine.tokens.left });
    const waiting = claw.call('claim_jobs', { waitMs: 50_000 });
    await waits(spine, 1);
    const authorization = `Bearer ${spine.tokens.left}`;
    for (let i = 0; i < 70; i++)
      strictEqual(
        (await post(spine, PING, { authorization, 'mcp-session-id': `${i}`.padStart(32, 'x') })).status,
        200,
      );
    await spine.head.post('/jobs', { target: 'left-claw', spec: 'for who waits' });
    const { jobs } = (await waiting) as unknown as { jobs: Json[] };
    strictEqual(jobs[0]?.['spec'], 'for who waits');
  });
});

const JSON_TYPE = { 'content-type': 'application/json' };

function call(name: string, given: object): object {
  return { jsonrpc: '2.0', id: 7, method: 'tools/call', params: { name, arguments: given } };
}

async function post<T = Json>(spine: Spine, body: unknown, headers: Headers = {}) {
  const given = {
    'content-type': 'application/json',
    authorization: `Bearer ${spine.tokens.head}`,
    ...headers,
  };
  const raw = typeof body === 'string' ? body : JSON.stringify(body);
  const caller = httpClient(spine.url);
  try {
    return await caller.request<T>('POST', '/mcp', { raw, headers: given });
  } finally {
    caller.close();
  }
}

function begin(spine: Spine, protocolVersion: string | undefined = NEWEST) {
  const params = { protocolVersion, capabilities: {}, clientInfo: { name: 'test', version: '1' } };
  return post(spine, { ...PING, method: 'initialize', params });
}

/** Until so many claims wait. */
async function waits(spine: Spine, count: number): Promise<void> {
  while (spine.engine.core.waiters.size !== count) await new Promise(setImmediate);
}

interface Held {
  readonly id: string;
  readonly leaseToken: string;
  readonly attempt: number;
}

async function claim(spine: Spine): Promise<Held> {
  await spine.head.post('/jobs', { target: 'left-claw' });
  const { body } = await spine.left.post<{ jobs: Held[] }>('/jobs/claim', {});
  const [job] = body.jobs;
  if (job === undefined) throw new Error('Nothing was claimed.');
  return job;
}
