import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SpineClient } from '../../src/client/browser.ts';
import { fetchTransport } from '../../src/client/transport-fetch.ts';
import { httpClient } from '../support/http.ts';
import { openServer } from './server.ts';

const PAGE = 'https://board.example';

/** What a page may send without asking first, by the Fetch standard. */
const SIMPLE_METHODS = new Set(['GET', 'HEAD', 'POST']);
const SIMPLE_HEADERS = new Set(['accept', 'accept-language', 'content-language']);
const SIMPLE_TYPES = /^(application\/x-www-form-urlencoded|multipart\/form-data|text\/plain)\b/;

interface Page {
  readonly fetch: typeof fetch;
  /** The requests that the browser made of its own accord. */
  readonly preflights: { readonly headers: Headers; readonly status: number }[];
}

/** A page of the origin in a browser: fetch, as the Fetch standard has it for another origin than the server's. */
function page(origin: string): Page {
  const preflights: Page['preflights'] = [];
  const comingFrom = {
    origin,
    'sec-fetch-site': 'cross-site',
    'sec-fetch-mode': 'cors',
    'sec-fetch-dest': 'empty',
  };
  const blocked = (why: string): TypeError => new TypeError(`Failed to fetch: ${why}`);
  const crossing: typeof fetch = async (input, init = {}) => {
    const { method = 'GET' } = init;
    const headers = new Headers(init.headers);
    const asked = [...headers]
      .filter(
        ([name, value]) =>
          !SIMPLE_HEADERS.has(name) && !(name === 'content-type' && SIMPLE_TYPES.test(value)),
      )
      .map(([name]) => name)
      .toSorted();
    if (!SIMPLE_METHODS.has(method) || asked.length > 0) {
      const answer = await fetch(input, {
        method: 'OPTIONS',
        headers: {
          ...comingFrom,
          'access-control-request-method': method,
          ...(asked.length > 0 && { 'access-control-request-headers': asked.join(',') }),
        },
      });
      preflights.push({ headers: answer.headers, status: answer.status });
      if (answer.headers.get('access-control-allow-origin') !== origin)
        throw blocked('not allowed for this origin');
      if (!answer.ok) throw blocked(`the preflight was answered ${answer.status}`);
      const methods = listIn(answer.headers, 'access-control-allow-methods');
      if (!SIMPLE_METHODS.has(method) && !methods.includes(method)) throw blocked(`no ${method}`);
      const allowed = listIn(answer.headers, 'access-control-allow-headers').map((name) =>
        name.toLowerCase(),
      );
      const missing = asked.filter((name) => !allowed.includes(name));
      if (missing.length > 0) throw blocked(`no ${missing.join(', ')}`);
    }
    const answer = await fetch(input, {
      ...init,
      headers: { ...Object.fromEntries(headers), ...comingFrom },
    });
    if (answer.headers.get('access-control-allow-origin') !== origin)
      throw blocked('the answer is not for it');
    return onlyExposed(answer);
  };
  return { fetch: crossing, preflights };
}

function listIn(headers: Headers, name: string): string[] {
  return (headers.get(name) ?? '').split(',').map((one) => one.trim());
}

/** A page reads no headers but these. */
function onlyExposed(answer: Response): Response {
  const always = [
    'cache-control',
    'content-language',
    'content-length',
    'content-type',
    'expires',
    'last-modified',
  ];
  const seen = new Set([...always, ...listIn(answer.headers, 'access-control-expose-headers')]);
  const { status } = answer;
  return new Response(status === 204 ? null : answer.body, {
    status,
    headers: [...answer.headers].filter(([name]) => seen.has(name)),
  });
}

test('a page whose origin is allowed works with a token: jobs, files, refusals and the live feed', async (t) => {
  const server = await openServer(t, () => ({ allowedOrigins: ['http://localhost:5173', PAGE] }));
  const { fetch: crossing, preflights } = page(PAGE);
  const clientWith = (token: string): SpineClient =>
    new SpineClient({ baseUrl: server.url, token, transport: fetchTransport(crossing), retries: 0 });
  const head = clientWith(server.tokens.head);
  const ending = new AbortController();
  const feed = head.events({ signal: ending.signal, lastEventId: '0' });
  const { id } = await head.jobs.create({ spec: { say: 'hello' } });
  const { value: event } = await feed.next();
  assert.equal(event?.data.jobId, id);
  ending.abort(new Error('seen'));
  await feed.next().catch(() => undefined);
  const claw = clientWith(server.tokens.left);
  const [job] = await claw.jobs.claimNext();
  assert.ok(job);
  await claw.jobs.heartbeat(job, { progress: 1 });
  const blob = await claw.blobs.upload('a drawing', { filename: 'drawing.txt', job });
  const file = await head.blobs.download(blob.id);
  assert.equal(new TextDecoder().decode(await file.bytes()), 'a drawing');
  assert.deepEqual([file.filename, file.sha256], ['drawing.txt', blob.sha256]);
  await claw.jobs.complete(job, { result: 'said' });
  await assert.rejects(clientWith('wrong').jobs.get(id), { code: 'unauthorized', status: 401 });
  await assert.rejects(head.jobs.get('nothing'), { code: 'not_found', status: 404 });
  assert.ok(preflights.length > 5);
  for (const { headers, status } of preflights) {
    assert.equal(status, 204);
    assert.equal(headers.get('vary'), 'origin');
    assert.equal(headers.get('access-control-allow-credentials'), null);
  }
});

test('a page of another origin is refused, its preflight too, and nothing is changed', async (t) => {
  const server = await openServer(t, () => ({ allowedOrigins: [PAGE] }));
  for (const origin of [
    'https://evil.example',
    `${PAGE}.evil.example`,
    'http://board.example',
    'null',
    `${PAGE}:444`,
  ]) {
    const { fetch: crossing } = page(origin);
    const client = new SpineClient({
      baseUrl: server.url,
      token: server.tokens.head,
      transport: fetchTransport(crossing),
      retries: 0,
    });
    await assert.rejects(client.jobs.create({ spec: origin }), /not allowed for this origin/, origin);
  }
  assert.deepEqual((await server.head.get('/jobs')).body, { jobs: [] });
});

test('without the setting no page may call, and programs are told nothing of origins', async (t) => {
  const server = await openServer(t);
  const client = httpClient(server.url, { token: server.tokens.head });
  t.after(() => client.close());
  const preflight = await client.request('OPTIONS', '/jobs', {
    headers: { origin: PAGE, 'access-control-request-method': 'POST' },
  });
  assert.equal(preflight.status, 403);
  const own = await client.request('GET', '/stats', {});
  assert.deepEqual(
    Object.keys({ ...preflight.headers, ...own.headers }).filter((name) =>
      /^access-control|^vary$/.test(name),
    ),
    [],
  );
});

test('an allowed origin opens neither another host name nor a path without its token', async (t) => {
  const server = await openServer(t, () => ({ allowedOrigins: [PAGE] }));
  const foreign = await server.anyone.request('POST', '/jobs', {
    headers: { origin: PAGE, host: 'evil.example' },
    body: {},
  });
  assert.equal(foreign.body['error'], 'bad_host');
  const unnamed = await server.anyone.request('POST', '/jobs', { headers: { origin: PAGE }, body: {} });
  assert.equal(unnamed.status, 401);
  assert.equal(unnamed.headers['access-control-allow-origin'], PAGE);
});
