import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { JobBody } from '../support/http.ts';
import { startServer, type TestServer } from '../support/server.ts';

const ISO = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
/** As people read it: time, level, what happened, and facts. */
const TEXT = /^\d\d:\d\d:\d\d\.\d{3} (?:debug|info |warn |error) [A-Z].*$/;

/** Makes a job that takes longer than a millisecond with all that is made beside it, and ends it. */
async function work({ head, left }: TestServer): Promise<string> {
  const jobs = Array.from({ length: 500 }, () => ({ target: 'any' }));
  assert.equal((await head.post('/jobs/batch', { jobs })).status, 201);
  const { body } = await head.post<JobBody>('/jobs', {});
  const claimed = await left.post<JobBody>(`/jobs/${body.id}/claim`);
  const ended = { leaseToken: claimed.body.leaseToken };
  assert.equal((await left.post(`/jobs/${body.id}/complete`, ended)).status, 200);
  return body.id;
}

suite('the log of a server', { concurrency: true }, () => {
  test('is one JSON object a line, from the start to the stop, and ties requests to their job [WK-39]', async () => {
    await using server = await startServer({
      logLevel: 'debug',
      env: { SPINE_LOG_FORMAT: 'json', SPINE_LOG_SLOW_MS: '1' },
    });
    const { pid } = server;
    const id = await work(server);
    await server.kill('SIGTERM');
    const lines = server
      .output()
      .trimEnd()
      .split('\n')
      .filter((line) => line.startsWith('{'))
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    for (const { t } of lines) assert.match(String(t), ISO);
    const told = (message: string) => lines.filter((line) => line['message'] === message);
    const [ready] = told('Spine is ready');
    assert.deepEqual([ready?.['level'], ready?.['url'], ready?.['pid']], ['info', server.url, pid]);
    assert.deepEqual(
      lines
        .filter(({ level }) => level !== 'debug')
        .slice(-2)
        .map(({ message }) => message),
      ['Spine is stopping', 'Spine has stopped'],
    );
    const slow = told('A call was slow').find(({ route }) => route === '/jobs/batch');
    assert.ok(slow !== undefined && Number(slow['ms']) > 1 && slow['level'] === 'warn');
    const [end] = told('A job is done');
    assert.equal(end?.['job'], id);
    assert.deepEqual(
      told('A request')
        .filter(({ job }) => job === id)
        .map(({ method, route }) => `${String(method)} ${String(route)}`),
      ['POST /jobs', 'POST /jobs/:id/claim', 'POST /jobs/:id/complete'],
    );
  });

  test('is a line of text for each thing where that is asked for, and names no slow call where none is slow', async () => {
    await using server = await startServer({
      logLevel: 'info',
      env: { SPINE_LOG_FORMAT: 'text', SPINE_LOG_SLOW_MS: '0' },
    });
    const { pid, url } = server;
    const id = await work(server);
    await server.kill('SIGTERM');
    const lines = server
      .output()
      .trimEnd()
      .split('\n')
      .filter((line) => TEXT.test(line));
    assert.match(
      lines.find((line) => line.includes('Spine is ready')) ?? '',
      new RegExp(` url=${url} .* pid=${pid}$`),
    );
    assert.match(
      lines.find((line) => line.includes('A job is done')) ?? '',
      new RegExp(` info  A job is done job=${id} no=501 `),
    );
    assert.deepEqual(
      lines.slice(-2).map((line) => line.slice(13)),
      ['info  Spine is stopping', 'info  Spine has stopped'],
    );
    assert.doesNotMatch(server.output(), /A call was slow|A request|^\{/m);
  });
});
