/** The worst that one caller can send: how long each call keeps the thread that answers everybody. */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { request } from 'node:http';
import { test, type TestContext } from 'node:test';
import type { JobBody } from '../support/http.ts';
import { startServer, type TestServer } from '../support/server.ts';

/** For all of a call, which reads, decides and prints in pieces of at most 50 ms; and lets code run that is not compiled yet. */
const CEILING_MS = 250;
/** What a concurrent caller may see on a machine that does other work too. */
const HEALTH_WITHIN_MS = 1_500;
const BODY_BYTES = 1_048_576;

/** What is there to be attacked: a job that somebody holds, and a schedule. */
interface Target {
  readonly jobId: string;
  readonly leaseToken: string;
  readonly scheduleId: string;
}

interface Attack {
  readonly name: string;
  /** How it is answered when it has done what it is about; 201 unless said. */
  readonly status?: number;
  readonly method?: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

const list = <T>(length: number, item: (i: number) => T): T[] => Array.from({ length }, (_, i) => item(i));
const fill = (unit: string, around: (inner: string) => string = (inner) => inner): string =>
  around(unit.repeat(Math.floor((BODY_BYTES - 200) / unit.length)));
const spec = (inner: string): string => `{"spec":${inner}}`;
const keys = (name: (i: number) => string, count: number): string =>
  `{${list(count, (i) => `${JSON.stringify(name(i))}:1`).join()}}`;
const jobs = (count: number, job: object): string => JSON.stringify({ jobs: list(count, () => job) });
const boundary = { 'content-type': 'multipart/form-data; boundary=x' };
const part = (inner: string): string =>
  `--x\r\nContent-Disposition: form-data; name="file"; filename="f"\r\n\r\n${inner}\r\n--x--\r\n`;

function attacks({ jobId, leaseToken, scheduleId }: Target): Attack[] {
  return [
    { name: 'a small job, to compare with', path: '/jobs', body: spec('1') },
    { name: 'brackets without end', status: 400, path: '/jobs', body: fill('[') },
    { name: 'many small lists', path: '/jobs', body: fill('[    ],', (inner) => spec(`[${inner}1]`)) },
    { name: 'many small objects', path: '/jobs', body: fill('{"a":1},', (inner) => spec(`[${inner}1]`)) },
    { name: 'many numbers', path: '/jobs', body: fill('1,', (inner) => spec(`[${inner}1]`)) },
    {
      name: 'many numbers beside an escape',
      path: '/jobs',
      body: fill('1,', (inner) => spec(`[${inner}"\\u0041"]`)),
    },
    {
      name: 'many small lists beside an escape',
      path: '/jobs',
      body: fill('[    ],', (inner) => spec(`[${inner}"\\u0041"]`)),
    },
    {
      name: 'lists in lists beside an escape',
      status: 400,
      path: '/jobs',
      body: fill(`${'['.repeat(50)}1${']'.repeat(50)},`, (inner) => spec(`[${inner}"\\u0041"]`)),
    },
    {
      name: 'long names in long names beside an escape',
      path: '/jobs',
      body: spec(`{"${'k'.repeat(500_000)}":{"${'k'.repeat(400_000)}":[${'1,'.repeat(50_000)}"\\u0041"]}}`),
    },
    { name: 'many escapes', path: '/jobs', body: fill('\\u00e9', (inner) => spec(`"${inner}"`)) },
    { name: 'a number of a million digits', path: '/jobs', body: fill('1', spec) },
    { name: 'a fraction of a million digits', path: '/jobs', body: fill('1', (inner) => spec(`0.${inner}`)) },
    { name: '80,000 names', path: '/jobs', body: spec(keys((i) => `k${i}`, 80_000)) },
    {
      name: '60,000 names that are numbers',
      path: '/jobs',
      body: spec(keys((i) => String(i * 65_536), 60_000)),
    },
    {
      name: 'the same name again and again',
      path: '/jobs',
      body: fill('"a":1,', (inner) => spec(`{${inner}"a":1}`)),
    },
    {
      name: 'an unknown field with a long name',
      status: 400,
      path: '/jobs',
      body: fill('x', (inner) => `{"${inner}":1}`),
    },
    { name: '80,000 unknown fields', status: 400, path: '/jobs', body: keys((i) => `k${i}`, 80_000) },
    {
      name: 'broken at the very end',
      status: 400,
      path: '/jobs',
      body: fill('1,', (inner) => `${spec(`[${inner}1]`)}x`),
    },
    { name: 'a long description', path: '/jobs', body: JSON.stringify({ description: 'w '.repeat(50_000) }) },
    {
      name: 'a description of many words',
      path: '/jobs',
      body: JSON.stringify({ description: list(15_000, (i) => `w${i}`).join(' ') }),
    },
    {
      name: 'a title that does not end',
      status: 400,
      path: '/jobs',
      body: fill('x', (inner) => `{"title":"${inner}"}`),
    },
    {
      name: 'a key with a control character at its end',
      status: 400,
      path: '/jobs',
      body: JSON.stringify({ uniqueKey: `${'x'.repeat(900_000)}\u0001` }),
    },
    { name: 'a thousand small jobs', path: '/jobs/batch', body: jobs(1_000, {}) },
    { name: 'a thousand jobs of 1 KB', path: '/jobs/batch', body: jobs(1_000, { spec: 'x'.repeat(950) }) },
    {
      name: 'a thousand jobs with tags',
      path: '/jobs/batch',
      body: jobs(1_000, { tags: list(32, (i) => `tag-${i}`) }),
    },
    {
      name: '50 jobs with 256 dependencies',
      path: '/jobs/batch',
      body: jobs(50, { after: list(256, () => jobId) }),
    },
    {
      name: '50 jobs with dependencies that are not there',
      status: 400,
      path: '/jobs/batch',
      body: jobs(50, { after: list(256, (i) => `none-${i}`) }),
    },
    {
      name: 'a thousand ends of one job',
      status: 200,
      path: '/jobs/complete-batch',
      body: JSON.stringify({ jobs: list(1_000, () => ({ id: jobId, leaseToken: 'x' })) }),
    },
    {
      name: 'a thousand ends of nobody',
      status: 200,
      path: '/jobs/complete-batch',
      body: JSON.stringify({ jobs: list(1_000, (i) => ({ id: `none-${i}` })) }),
    },
    {
      name: 'a thousand ends of short numbers',
      status: 200,
      path: '/jobs/complete-batch',
      body: JSON.stringify({ jobs: list(1_000, (i) => ({ id: String(100_000 + i) })) }),
    },
    {
      name: 'a thousand lines of a log',
      status: 200,
      path: `/jobs/${jobId}/logs`,
      body: JSON.stringify({ leaseToken, lines: list(1_000, () => ({ text: 'x'.repeat(900) })) }),
    },
    {
      name: 'a long key for a repeated call',
      status: 400,
      path: '/jobs',
      headers: { 'idempotency-key': 'k'.repeat(15_000) },
      body: spec('1'),
    },
    {
      name: 'a large body with a key',
      path: '/jobs',
      headers: { 'idempotency-key': `k${jobId}` },
      body: fill('x', (inner) => spec(`"${inner}"`)),
    },
    {
      name: 'a schema of many keywords',
      status: 200,
      method: 'PUT',
      path: '/types/wide',
      body: JSON.stringify({
        paramsSchema: { properties: Object.fromEntries(list(2_400, (i) => [`f${i}`, { type: 'string' }])) },
      }),
    },
    {
      name: 'a schema of many patterns',
      status: 400,
      method: 'PUT',
      path: '/types/patterns',
      body: JSON.stringify({
        paramsSchema: {
          properties: Object.fromEntries(list(90, (i) => [`f${i}`, { pattern: `(?i)\\p{L}${i}` }])),
        },
      }),
    },
    {
      name: 'a schema that is one pattern',
      status: 200,
      method: 'PUT',
      path: '/types/pattern',
      body: JSON.stringify({ paramsSchema: { pattern: '^(\\w+\\s?){1,140}$' } }),
    },
    {
      name: 'a long text against the pattern',
      status: 400,
      path: '/jobs',
      body: JSON.stringify({ type: 'pattern', params: 'a'.repeat(250_000) }),
    },
    {
      name: 'a schema of unique items',
      status: 200,
      method: 'PUT',
      path: '/types/unique',
      body: JSON.stringify({ paramsSchema: { uniqueItems: true } }),
    },
    {
      name: '20,000 objects that must be unique',
      status: 400,
      path: '/jobs',
      body: JSON.stringify({ type: 'unique', params: list(20_000, (i) => ({ a: i, b: { c: i } })) }),
    },
    {
      name: 'a million characters of a message',
      status: 400,
      path: '/messages',
      body: JSON.stringify({ to_agent: 'main', kind: 'text', body: 'x'.repeat(900_000) }),
    },
    {
      name: 'a cron that never comes',
      status: 400,
      path: '/schedules',
      body: JSON.stringify({ name: 'never', schedule_cron: '0 0 31 2 *', payload_message: 'x' }),
    },
    {
      name: 'a cron that comes in many years',
      path: '/schedules',
      body: JSON.stringify({ name: 'rare', schedule_cron: '0 0 29 2 1', payload_message: 'x' }),
    },
    {
      name: 'a cron of long lists',
      status: 400,
      path: '/schedules',
      body: JSON.stringify({
        name: 'lists',
        schedule_cron: `${list(40, (i) => i).join()} 3 31 2,4,6,9,11 *`,
        schedule_tz: 'America/St_Johns',
        payload_message: 'x',
      }),
    },
    {
      name: 'a large pattern as a condition',
      path: '/schedules',
      body: JSON.stringify({
        name: 'chain',
        parent_id: scheduleId,
        trigger_on: 'success',
        trigger_condition: `regex:(?i)${'\\p{L}'.repeat(190)}`,
        payload_message: 'x',
      }),
    },
    {
      name: 'a search for letters and a control character',
      status: 400,
      method: 'GET',
      path: `/jobs?q=${'a'.repeat(14_000)}%01`,
    },
    {
      name: 'a search of many words',
      status: 200,
      method: 'GET',
      path: `/jobs?q=${list(90, () => 'w').join('%20')}`,
    },
    { name: 'many parameters', status: 400, method: 'GET', path: `/jobs?${'a=1&'.repeat(3_500)}` },
    {
      name: 'a long list of targets',
      status: 400,
      method: 'GET',
      path: `/events?target=${'a,'.repeat(7_000)}`,
    },
    { name: 'a long path', status: 404, method: 'GET', path: `/${'a/'.repeat(7_000)}` },
    { name: 'a long path of escapes', status: 400, method: 'GET', path: `/jobs/${'%61'.repeat(4_500)}` },
    {
      name: 'a long place to go on from',
      status: 400,
      method: 'GET',
      path: '/events',
      headers: { 'last-event-id': '1'.repeat(15_000) },
    },
    {
      name: 'a long authorization',
      status: 401,
      method: 'GET',
      path: '/jobs',
      headers: { authorization: `Bearer ${' '.repeat(7_000)}${'a'.repeat(7_000)}` },
    },
    {
      name: 'a long request',
      path: '/jobs',
      headers: { prefer: 'return=minimal, '.repeat(900) },
      body: spec('1'),
    },
    {
      name: 'a thousand headers',
      status: 413,
      method: 'GET',
      path: '/jobs',
      headers: Object.fromEntries(list(1_000, (i) => [`x-${i}`, '1'])),
    },
    {
      name: 'an upload that is almost all boundaries',
      status: 200,
      path: '/blobs',
      headers: boundary,
      body: part(fill('\r\n--', (inner) => inner)),
    },
    {
      name: 'an upload of a thousand parts',
      status: 413,
      path: '/blobs',
      headers: boundary,
      body: `${'--x\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n'.repeat(10_000)}--x--\r\n`,
    },
    {
      name: 'an upload with a long header',
      status: 400,
      path: '/blobs',
      headers: boundary,
      body: `--x\r\nContent-Disposition: form-data; name="file"; ${'a="b"; '.repeat(100_000)}\r\n\r\n1\r\n--x--\r\n`,
    },
    {
      name: 'an upload with a long file name',
      status: 200,
      path: '/blobs',
      headers: boundary,
      body: `--x\r\nContent-Disposition: form-data; name="file"; filename="${'é'.repeat(8_000)}"\r\n\r\n1\r\n--x--\r\n`,
    },
    {
      name: 'a task with 60,000 fields that nobody knows',
      status: 400,
      path: '/api/tasks',
      body: `{"title":"t",${keys((i) => `k${i}`, 60_000).slice(1)}`,
    },
    {
      name: 'a task of long texts',
      status: 200,
      path: '/api/tasks',
      body: JSON.stringify({
        title: 't',
        description: '"'.repeat(100_000),
        steps: list(100, () => '"'.repeat(3_000)),
      }),
    },
    {
      name: 'a task that waits for 256 others and is to be done',
      status: 409,
      path: '/api/tasks',
      body: JSON.stringify({ title: 't', status: 'done', blockedBy: list(256, () => jobId) }),
    },
    {
      name: 'a move of a card with 1,000 facts',
      status: 200,
      method: 'PATCH',
      path: `/api/tasks/${jobId}`,
      body: JSON.stringify({ metadata: Object.fromEntries(list(1_000, (i) => [`k${i}`, i])) }),
    },
    {
      name: 'a heartbeat of many small facts',
      status: 400,
      path: '/api/heartbeats/start',
      body: `{"slot":"s","instance":"i","metadata":${keys((i) => `k${i}`, 80_000)}}`,
    },
    {
      name: 'a prompt of 500,000 characters',
      status: 200,
      path: '/api/sessions/spawn',
      body: JSON.stringify({ sessionLabel: 'l', prompt: 'p'.repeat(500_000) }),
    },
    { name: 'all jobs', status: 200, method: 'GET', path: '/jobs' },
    { name: 'all tasks', status: 200, method: 'GET', path: '/api/tasks' },
    { name: 'a task with what became of it', status: 200, method: 'GET', path: `/api/tasks/${jobId}` },
    { name: 'all schedules', status: 200, method: 'GET', path: '/schedules/tree' },
    { name: 'the description of the API', status: 200, method: 'GET', path: '/openapi.json' },
  ];
}

/** Processor time of the thread that answers calls. */
function busyMs({ pid }: TestServer): number {
  const [ns = '0'] = readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ');
  return Number(ns) / 1e6;
}

/** Spoken below fetch, which would refuse some of these itself. */
function send(
  { url, tokens }: TestServer,
  { method = 'POST', path, headers, body }: Attack,
): Promise<number> {
  return new Promise((resolve) => {
    const call = request(`${url}${path}`, {
      method,
      agent: false,
      headers: {
        authorization: `Bearer ${tokens.head}`,
        ...(body !== undefined && {
          'content-type': 'application/json',
          'content-length': Buffer.byteLength(body),
        }),
        ...headers,
      },
    });
    call.on('response', (response) => {
      // A feed does not end by itself.
      if (response.headers['content-type']?.startsWith('text/event-stream')) response.destroy();
      response.resume().on('close', () => resolve(response.statusCode ?? 0));
    });
    call.on('error', () => resolve(0));
    call.end(body);
  });
}

const linuxOnly = process.platform === 'linux' ? false : 'only Linux tells what a thread has used';

test('nothing that one caller sends keeps the server from the others', { skip: linuxOnly }, async (t) => {
  const slow = await tryAll(t);
  // What a busy machine did to a call it hardly does again; a server of its own, because the first remembers schemas.
  const again = slow.size === 0 ? slow : await tryAll(t);
  const both = [...slow].filter(([name]) => again.has(name));
  assert.deepEqual(both.flat(), []);
});

async function targetOn({ head, left }: TestServer): Promise<Target> {
  const { id: jobId } = (await head.post<JobBody>('/jobs', { spec: 1 })).body;
  const { leaseToken } = (await left.post<JobBody>(`/jobs/${jobId}/claim`, {})).body;
  const schedule = { name: 'parent', schedule_kind: 'manual', session_target: 'queue', payload_message: 'x' };
  const { id: scheduleId } = (await head.post<{ id: string }>('/schedules', schedule)).body;
  return { jobId, leaseToken: leaseToken ?? assert.fail('it was not claimed'), scheduleId };
}

/** Those that took too long, by name, with what they took. */
async function tryAll(t: TestContext): Promise<ReadonlyMap<string, string>> {
  await using server = await startServer({ env: { SPINE_SESSION_COMMAND: '["/bin/true"]' } });
  const target = await targetOn(server);
  const slow = new Map<string, string>();
  for (const attack of attacks(target)) {
    const before = busyMs(server);
    const sent = send(server, attack);
    const asked = performance.now();
    assert.equal((await server.anyone.request('GET', '/health')).status, 200);
    const healthMs = performance.now() - asked;
    const status = await sent;
    // What goes on after the answer is a caller's doing too.
    assert.equal((await server.anyone.request('GET', '/health')).status, 200);
    const tookMs = busyMs(server) - before;
    const line = `${attack.name}: ${status}, ${tookMs.toFixed(1)} ms, /health after ${healthMs.toFixed(1)} ms`;
    t.diagnostic(line);
    assert.equal(status, attack.status ?? 201, line);
    if (tookMs > CEILING_MS || healthMs > HEALTH_WITHIN_MS) slow.set(attack.name, line);
  }
  return slow;
}
