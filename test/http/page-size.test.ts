import { deepStrictEqual, ok, strictEqual } from 'node:assert';
import { readFileSync } from 'node:fs';
import { suite, test, type TestContext } from 'node:test';
import { LIMITS } from '../../src/domain/limits.ts';
import { type Answer, type HttpClient, httpClient, type JobBody } from '../support/http.ts';
import { startServer } from '../support/server.ts';
import { openServer } from './server.ts';

const MEGABYTE = 1_000_000;
const HEAD = { name: 'head', role: 'head', targets: null } as const;

suite('a page', () => {
  test('of jobs ends before it is too long, and its cursor leads to the rest', async (t) => {
    const { head } = await openLargeDoor(t);
    const made: string[] = [];
    for (let i = 0; i < 18; i++) made.push(await createJob(head, { spec: 'x'.repeat(MEGABYTE) }));
    for (const order of ['oldest', 'newest']) {
      const pages = await walk(head, `/jobs?limit=1000&order=${order}`, 'jobs', 'cursor', 'nextCursor');
      deepStrictEqual(
        pages.map(({ length }) => length),
        [8, 8, 2],
      );
      const ids = pages.flat().map(({ id }) => id);
      deepStrictEqual(order === 'oldest' ? ids : ids.toReversed(), made);
    }
    const all = await head.get<{ jobs: JobBody[]; truncated?: boolean }>('/jobs');
    deepStrictEqual([all.body.jobs.length, all.body.truncated], [8, true]);
  });

  test('of jobs counts comments and results, and shows one job however large', async (t) => {
    const { head, left, engine } = await openLargeDoor(t);
    const id = await createJob(head, { spec: 'x'.repeat(MEGABYTE) });
    const wide = '仕'.repeat(LIMITS.commentChars);
    for (let i = 0; i < 2 * LIMITS.commentsShown; i++) await engine.jobs.comment(HEAD, id, wide);
    await left.post(`/jobs/${id}/claim`, {});
    await left.post(`/jobs/${id}/complete`, { result: 'r'.repeat(MEGABYTE) });
    await createJob(head, {});
    const pages = await walk(head, '/jobs?limit=10', 'jobs', 'cursor', 'nextCursor');
    deepStrictEqual(
      pages.map(({ length }) => length),
      [2],
    );
    const shown = pages.flat()[0]?.['comments'];
    ok(Array.isArray(shown) && shown.length === LIMITS.commentsShown);
    const comments = await walk(head, `/jobs/${id}/comments?limit=1000`, 'comments', 'after', 'nextAfter');
    strictEqual(comments.flat().length, 2 * LIMITS.commentsShown);
  });

  test('of jobs goes on where hardly any fits', async (t) => {
    const { head, engine } = await openLargeDoor(t);
    const others = Array.from({ length: 900 }, () => ({ target: 'any' }));
    const rare: string[] = [];
    for (let i = 0; i < 3; i++) {
      for (let k = 0; k < 3; k++) await engine.jobs.create(HEAD, others);
      rare.push(await createJob(head, { target: 'rare' }));
    }
    const { body } = await head.get<Item>('/jobs?target=rare&limit=10');
    deepStrictEqual([(body['jobs'] as JobBody[]).map(({ id }) => id), body['nextCursor']], [rare, null]);
    const all = await head.get<Item>('/jobs?target=rare');
    deepStrictEqual([(all.body['jobs'] as JobBody[]).length, all.body['truncated']], [3, undefined]);
  });

  test('of events, log lines, types or messages ends before it is too long', async (t) => {
    const { head, left, engine } = await openLargeDoor(t);
    const id = await createJob(head, {});
    const { body: held } = await left.post<JobBody>(`/jobs/${id}/claim`, {});
    const text = 'l'.repeat(LIMITS.logLineChars);
    const lines = Array.from({ length: 60 }, () => ({ text }));
    for (let i = 0; i < 10; i++) await left.post(`/jobs/${id}/logs`, { leaseToken: held.leaseToken, lines });
    const progress = 'p'.repeat(LIMITS.progressBytes - 10);
    for (let i = 0; i < 600; i++) await engine.leases.heartbeat(HEAD, id, null, progress);
    const sop = 's'.repeat(LIMITS.sopChars);
    for (let i = 0; i < 45; i++) await engine.types.save(HEAD, { name: `type-${i}`, sop });
    for (const [path, name, cursor, next, count] of [
      [`/jobs/${id}/logs?limit=1000`, 'logs', 'after', 'nextAfter', 600],
      [`/jobs/${id}/events?limit=1000`, 'events', 'after', 'nextAfter', 602],
      ['/types?limit=1000', 'types', 'after', 'nextAfter', 45],
    ] as const) {
      const pages = await walk(head, path, name, cursor, next);
      strictEqual(pages.flat().length, count, path);
      ok(pages.length > 1, path);
    }
  });

  test('of messages or artifacts has a cursor', async (t) => {
    const { head, left } = await openLargeDoor(t);
    const id = await createJob(head, {});
    await left.post(`/jobs/${id}/claim`, {});
    const names = ['a', 'b', 'c', 'd', 'e'];
    for (const name of names) strictEqual((await upload(left, id, name)).status, 200);
    const pages = await walk(head, `/jobs/${id}/blobs?limit=2`, 'blobs', 'after', 'nextAfter');
    deepStrictEqual(new Set(pages.flat().map(({ filename }) => filename)), new Set(names));
    const messages = await head.get<{ messages: unknown[]; next_before: unknown }>('/messages?limit=2');
    deepStrictEqual(messages.body, { messages: [], next_before: null });
  });
});

test('24 callers who list jobs of 1 MB, or ask for one, leave the server within its memory', async () => {
  await using server = await startServer({ env: { SPINE_FILES: 'off' } });
  const { head, left } = server;
  const ids: string[] = [];
  for (let i = 0; i < 40; i++) ids.push(await createJob(head, { target: 'any', spec: 'x'.repeat(MEGABYTE) }));
  const peak = (): number =>
    Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${server.pid}/status`, 'utf8'))?.[1]);
  const before = peak();
  const ask = async (path: string): Promise<void> => {
    const { status, text } = await head.get(path, { timeoutMs: 60_000 });
    ok(status === 200 && text.length > 0, `${path}: ${status}`);
  };
  for (const path of ['/jobs', '/jobs?limit=1000', `/jobs/${ids[0]}`, '/jobs?order=newest&limit=1000'])
    await Promise.all(Array.from({ length: 24 }, () => ask(path)));
  const comment = (): Promise<unknown> => head.post(`/jobs/${ids[1]}/comment`, { text: 'x' });
  await Promise.all(Array.from({ length: 48 }, comment));
  const claim = (): Promise<Answer<{ jobs: JobBody[] }>> =>
    left.post('/jobs/claim', { target: 'any', max: 1_000 }, { timeoutMs: 60_000 });
  const claimed = await Promise.all(Array.from({ length: 24 }, claim));
  deepStrictEqual(
    claimed.flatMap(({ body }) => body.jobs.map(({ attempts }) => attempts)),
    ids.map(() => 1),
  );
  const grownMb = Math.round((peak() - before) / 1_024);
  ok(grownMb < 400, `grew by ${grownMb} MB from ${Math.round(before / 1_024)}`);
});

/** Clients that take an answer as it is: to hold megabytes against the description takes seconds. */
async function openLargeDoor(t: TestContext) {
  const spine = await openServer(t);
  const head = httpClient(spine.url, { token: spine.tokens.head });
  const left = httpClient(spine.url, { token: spine.tokens.left });
  t.after(() => [head, left].forEach((client) => client.close()));
  return { head, left, engine: spine.engine };
}

async function createJob(head: HttpClient, draft: object): Promise<string> {
  const { status, body } = await head.post<JobBody>('/jobs', draft);
  strictEqual(status, 201);
  return body.id;
}

type Item = Readonly<Record<string, unknown>>;

/** All pages from the first to the last, each within its bounds. */
async function walk(
  client: HttpClient,
  path: string,
  name: string,
  cursor: string,
  next: string,
): Promise<Item[][]> {
  const pages: Item[][] = [];
  for (let from: string | number | null = null; ; ) {
    const at: string = from === null ? path : `${path}&${cursor}=${encodeURIComponent(from)}`;
    const { status, text, body }: Answer<Item> = await client.get(at);
    strictEqual(status, 200);
    const items = body[name] as Item[];
    pages.push(items);
    ok(items.length === 1 || text.length <= LIMITS.answerBytes, `${path}: ${text.length}`);
    from = body[next] as string | number | null;
    if (from === null) return pages;
    ok(items.length > 0 && pages.length < 100);
  }
}

function upload(client: HttpClient, job: string, name: string): Promise<Answer<unknown>> {
  const boundary = 'b0undary';
  const part = `Content-Disposition: form-data; name="file"; filename="${name}"`;
  const raw = `--${boundary}\r\n${part}\r\n\r\n${name}\r\n--${boundary}--\r\n`;
  const headers = { 'content-type': `multipart/form-data; boundary=${boundary}` };
  return client.request('POST', `/jobs/${job}/blobs`, { raw, headers });
}
