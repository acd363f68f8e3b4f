import { deepStrictEqual, match, ok, strictEqual } from 'node:assert';
import { connect } from 'node:net';
import { suite, test } from 'node:test';
import { DOORS } from '../../src/http/doors.ts';
import { openServer } from './server.ts';

const routes = DOORS.flatMap((spine) => spine.routes);
const JSON_TYPE = { 'content-type': 'application/json' };

suite('the server under attack', () => {
  test('[SP-07] no route but the public ones answers without a token', async (t) => {
    const spine = await openServer(t);
    const closed = routes.filter(({ who }) => who !== 'anyone');
    ok(closed.length > 40);
    for (const { method, path } of closed) {
      const url = path.replace(/:\w+/g, 'x');
      const answer = await spine.anyone.request(method, url, {
        headers: { 'x-openclaw-scopes': 'operator.admin' },
      });
      deepStrictEqual(
        [answer.status, answer.body['code'] ?? answer.body['error']],
        [401, 'unauthorized'],
        `${method} ${path}`,
      );
      strictEqual(answer.headers['www-authenticate'], 'Bearer');
    }
  });

  test('every route refuses a foreign Host and a foreign page, known or not', async (t) => {
    const spine = await openServer(t);
    for (const { method, path } of [...routes, { method: 'GET', path: '/nothing' }]) {
      const url = path.replace(/:\w+/g, 'x');
      strictEqual((await spine.head.request(method, url, { headers: { host: 'evil.test' } })).status, 421);
      const page = await spine.head.request(method, url, {
        headers: { origin: 'http://evil.test', 'content-type': 'text/plain' },
      });
      strictEqual(page.status, 403);
      strictEqual(page.headers['access-control-allow-origin'], undefined);
    }
  });

  test('every answer forbids sniffing, caching and framing', async (t) => {
    const spine = await openServer(t);
    for (const path of ['/health', '/jobs', '/nothing', '/jobs/nothing']) {
      const { headers } = await spine.head.get(path);
      strictEqual(headers['x-content-type-options'], 'nosniff');
      strictEqual(headers['cache-control'], 'no-store');
      match(String(headers['content-security-policy']), /default-src 'none'; frame-ancestors 'none'/);
    }
  });

  test('hostile bodies are refused with the reason, and the list still prints', async (t) => {
    const spine = await openServer(t);
    const deep = `{"spec":${'['.repeat(100_000)}${']'.repeat(100_000)}}`;
    for (const raw of [
      '{"__proto__":{"isAdmin":true}}',
      '{"spec":{"constructor":{"prototype":{}}}}',
      '{"spec":"\\u0000"}',
      '{"spec":"\\ud800"}',
      deep,
      '{',
      'null x',
      '[]',
      '"text"',
      '5',
    ]) {
      const answer = await spine.head.request('POST', '/jobs', { raw, headers: JSON_TYPE });
      strictEqual(answer.status, 400, raw.slice(0, 60));
      match(String(answer.body['error']), /^bad_(json|request)$/);
    }
    strictEqual((await spine.head.get('/jobs')).status, 200);
  });

  test('other content types and encodings are refused', async (t) => {
    const spine = await openServer(t);
    for (const headers of [
      { 'content-type': 'text/plain' },
      { 'content-type': 'application/x-www-form-urlencoded' },
      { 'content-type': 'multipart/form-data; boundary=x' },
      { 'content-type': 'nonsense' },
      { ...JSON_TYPE, 'content-encoding': 'gzip' },
    ]) {
      const answer = await spine.head.request('POST', '/jobs', { raw: '{}', headers });
      deepStrictEqual(
        [answer.status, answer.body['error']],
        [415, 'unsupported_media_type'],
        JSON.stringify(headers),
      );
    }
    const blob = await spine.head.post('/blobs', { files: { f: { filepath: '/etc/passwd' } } });
    deepStrictEqual([blob.status, blob.body['error']], [415, 'unsupported_media_type']);
  });

  test('a body beyond the limit is refused, announced or not', async (t) => {
    const spine = await openServer(t, () => ({ bodyLimitBytes: 1_000 }));
    const body = { spec: 'x'.repeat(1_000) };
    const answer = await spine.head.post('/jobs', body);
    deepStrictEqual([answer.status, answer.body['error']], [413, 'too_large']);
    const chunk = 'x'.repeat(600);
    const endless = await raw(spine.port, [
      `POST /jobs HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${spine.tokens.head}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`,
      `258\r\n${chunk}\r\n258\r\n${chunk}\r\n`,
    ]);
    match(endless, /^HTTP\/1\.1 413 /);
    match(endless, /"error":"too_large"/);
  });

  test('what is not HTTP is refused, and odd paths find nothing', async (t) => {
    const spine = await openServer(t);
    const auth = `Host: localhost\r\nAuthorization: Bearer ${spine.tokens.head}\r\n`;
    const broken = [
      `POST /jobs HTTP/1.1\r\n${auth}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
      `POST /jobs HTTP/1.1\r\n${auth}Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}`,
      `GET /jobs HTTP/1.1\r\n${auth}X: a\r\n b\r\n\r\n`,
      'nonsense\r\n\r\n',
      'GET /jobs HTTP/1.1\r\n\r\n',
    ];
    for (const text of broken) match(await raw(spine.port, [text]), /^HTTP\/1\.1 400 /, text);
    match(
      await raw(spine.port, [`GET /jobs HTTP/1.1\r\n${auth}X: ${'x'.repeat(64_000)}\r\n\r\n`]),
      /^HTTP\/1\.1 (413|431) /,
    );
    for (const path of ['//jobs', '/JOBS', '/jobs;x', '/%2fjobs', '/jobs/', '/../jobs', '/debug/vars']) {
      strictEqual((await spine.head.get(path)).status, 404, path);
    }
    strictEqual((await spine.head.get('/jobs/%zz')).status, 400);
    const trace = await spine.head.request('TRACE', '/jobs');
    ok(trace.status === 404 || trace.status === 405);
  });

  test('a path that takes another method says which', async (t) => {
    const spine = await openServer(t);
    for (const [method, path, allow] of [
      ['DELETE', '/jobs', 'POST, GET'],
      ['PUT', '/jobs/x', 'GET, PATCH, DELETE'],
      ['GET', '/jobs/x/claim', 'POST'],
      ['POST', '/health', 'GET'],
    ] as const) {
      const answer = await spine.head.request(method, path);
      deepStrictEqual(
        [answer.status, answer.body['error'], answer.headers.allow],
        [405, 'method_not_allowed', allow],
      );
    }
  });

  test('what breaks inside shows an id, and its cause only in the log', async (t) => {
    const spine = await openServer(t, ({ engine }) => ({
      engine: {
        ...engine,
        counts: () => Promise.reject(new Error('secret cause')),
        jobs: { ...engine.jobs, get: () => Promise.reject(new Error('secret cause')) },
      },
    }));
    const answer = await spine.head.get('/stats');
    strictEqual(answer.status, 500);
    ok(!answer.text.includes('secret') && !answer.text.includes('.ts'));
    const [line] = spine.logged;
    strictEqual(line?.facts['requestId'], answer.body['requestId']);
    match(String(line?.facts['error']), /secret cause/);
    ok(!JSON.stringify(spine.logged).includes(spine.tokens.head));
    strictEqual((await spine.head.get('/jobs/0042424242')).status, 500);
    strictEqual(spine.logged[1]?.facts['path'], '/jobs/:id');
    ok(!/42424242/.test(JSON.stringify(spine.logged)));
  });

  test('text with markup comes back as text', async (t) => {
    const spine = await openServer(t);
    const text = '<img src=x onerror=alert(1)> javascript:alert(1) \u001b]0;title\u0007';
    const created = await spine.head.post('/jobs', { title: text, spec: text });
    match(created.headers['content-type'] ?? '', /^application\/json/);
    deepStrictEqual([created.status, created.body['title']], [201, text]);
  });

  test('progress and errors have a limit', async (t) => {
    const spine = await openServer(t);
    const { id } = (await spine.head.post<{ id: string }>('/jobs')).body;
    await spine.left.post(`/jobs/${id}/claim`);
    const heartbeat = await spine.left.post(`/jobs/${id}/heartbeat`, { progress: 'x'.repeat(16_385) });
    deepStrictEqual([heartbeat.status, heartbeat.body['field']], [400, 'progress']);
    const failure = await spine.left.post(`/jobs/${id}/fail`, { error: { text: 'x'.repeat(20_000) } });
    deepStrictEqual([failure.status, failure.body['field']], [400, 'error']);
  });
});

/** Sends bytes as they are and answers with all that comes back until the connection ends. */
function raw(port: number, parts: readonly string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    let answer = '';
    const socket = connect(port, '127.0.0.1', () => {
      for (const part of parts) socket.write(part);
    });
    socket.setEncoding('latin1');
    socket.on('data', (text) => {
      answer += String(text);
      // Once refused, what else the server does with the connection is not this test's concern.
      if (answer.includes('\r\n\r\n{')) socket.end();
    });
    socket.on('error', (error) => (answer === '' ? reject(error) : resolve(answer)));
    socket.on('close', () => resolve(answer));
  });
}
