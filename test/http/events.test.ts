import { deepStrictEqual, match, ok, strictEqual } from 'node:assert';
import { suite, test } from 'node:test';
import { until } from '../support/clock.ts';
import { openServer } from './server.ts';
import { readEvents } from './stream.ts';

const MIB = 1_048_576;

suite('streams of events', () => {
  test('hand the same fifty events to two readers, and read the feed once for both', async (t) => {
    let reads = 0;
    const spine = await openServer(t, ({ engine }) => ({
      engine: {
        ...engine,
        jobs: {
          ...engine.jobs,
          feed: (after, limit) => {
            reads++;
            return engine.jobs.feed(after, limit);
          },
        },
      },
    }));
    const options = { token: spine.tokens.head };
    const readers = await Promise.all([readEvents(spine.url, options), readEvents(spine.url, options)]);
    await spine.head.post('/jobs/batch', { jobs: [{}] });
    await Promise.all(readers.map((reader) => reader.first(1)));
    const before = reads;
    for (let n = 0; n < 49; n++) await spine.head.post('/jobs', {});
    const [one, other] = await Promise.all(readers.map((reader) => reader.first(50)));
    deepStrictEqual(one, other);
    strictEqual(new Set(one?.map(({ id }) => id)).size, 50);
    ok(reads - before <= 100, `${reads - before} reads for 49 events`);
    for (const reader of readers) reader.close();
  });

  test('keep little for a reader that stalls, cut it off in the end, and tell it where to go on', async (t) => {
    const waits: (() => void)[] = [];
    const spine = await openServer(t, ({ clock }) => ({
      clock: {
        now: () => clock.now(),
        after: (delayMs, task) => {
          if (delayMs !== 15_000) return clock.after(delayMs, task);
          waits.push(task);
          return () => undefined;
        },
      },
    }));
    const job = (await spine.head.post<{ id: string }>('/jobs', {})).body;
    const start = (await readEvents(spine.url, { token: spine.tokens.head })).lastId;
    const stalled = await readEvents(spine.url, { token: spine.tokens.head });
    const reading = await readEvents(spine.url, { token: spine.tokens.head });
    stalled.pause();
    const text = 'x'.repeat(19_000);
    let unsent = 0;
    for (let n = 0; n < 600; n++) {
      await spine.engine.jobs.comment(HEAD, job.id, text);
      if (n % 5 === 0) unsent = Math.max(unsent, ...(await unsentBytes(spine.port)));
    }
    ok(unsent > 0 && unsent < 0.1 * MIB, `${unsent} bytes were kept for it`);
    strictEqual((await reading.first(600)).length, 600);
    for (const pass of waits.splice(0)) pass();
    // The server has let go of it, whether it reads on or not.
    await until('it has let go', async () =>
      (await spine.head.get('/metrics')).text.includes('spine_event_streams 2'),
    );
    stalled.resume();
    await stalled.closed;
    ok(stalled.events.length < 600);
    const back = await readEvents(spine.url, {
      token: spine.tokens.head,
      lastEventId: stalled.events.at(-1)?.id ?? start,
    });
    await back.first(600 - stalled.events.length);
    deepStrictEqual(
      [...stalled.events, ...back.events].map(({ id }) => id),
      reading.events.map(({ id }) => id),
    );
    for (const reader of [reading, back]) reader.close();
  });

  test('send a reader that pauses for a while everything, without mixing it up with what others are sent', async (t) => {
    const spine = await openServer(t);
    const jobs = await Promise.all(
      Array.from({ length: 4 }, async () => (await spine.head.post<{ id: string }>('/jobs', {})).body.id),
    );
    const readers = await Promise.all(
      ['', '?after=0', '?type=job.comment', `?jobId=${jobs[0]}`].map((query) =>
        readEvents(spine.url, { token: spine.tokens.head, query }),
      ),
    );
    for (let n = 0; n < 800; n++) {
      // Letters of different length tell whether anything was cut or overwritten.
      const text = ['x', 'ü', '☃'][n % 3]?.repeat(5_000 + 3_000 * (n % 4)) ?? '';
      await spine.engine.jobs.comment(HEAD, jobs[n % 4] ?? '', `${n} ${text}`);
      const reader = readers[n % 3];
      if (n % 50 === 0) reader?.pause();
      if (n % 50 === 40) for (const each of readers) each.resume();
    }
    for (const each of readers) each.resume();
    const comments = await Promise.all(
      [800, 804, 800, 200].map(async (count, i) =>
        (await readers[i]?.first(count))?.filter(({ type }) => type === 'job.comment'),
      ),
    );
    const all = Array.from({ length: 800 }, (_, n) => n);
    for (const [i, seen] of comments.entries()) {
      const expected = i === 3 ? all.filter((n) => n % 4 === 0) : all;
      deepStrictEqual(
        seen?.map(({ data }) => Number.parseInt(String(data['text']), 10)),
        expected,
      );
      for (const { data } of seen ?? []) {
        const [n, text = ''] = String(data['text']).split(' ');
        const letter = ['x', 'ü', '☃'][Number(n) % 3] ?? '';
        strictEqual(text, letter.repeat(5_000 + 3_000 * (Number(n) % 4)));
      }
    }
    for (const reader of readers) reader.close();
  });

  test('wait for a slow reader of old events instead of cutting it off', async (t) => {
    const spine = await openServer(t);
    const job = (await spine.head.post<{ id: string }>('/jobs', {})).body;
    const text = 'y'.repeat(19_000);
    for (let n = 0; n < 400; n++) await spine.engine.jobs.comment(HEAD, job.id, text);
    const slow = await readEvents(spine.url, { token: spine.tokens.head, query: '?after=0' });
    slow.pause();
    const kept = async (): Promise<number> => Math.max(0, ...(await unsentBytes(spine.port)));
    await until('the line is full', async () => (await kept()) > 0);
    // Others are served meanwhile, and nothing more is read for it.
    for (let n = 0; n < 10; n++) {
      await spine.head.get('/health');
      ok((await kept()) < 0.1 * MIB);
    }
    slow.resume();
    await slow.first(401);
    await spine.head.post('/jobs', {});
    strictEqual((await slow.first(402)).at(-1)?.type, 'job.created');
    slow.close();
  });

  test('are five hundred at most', async (t) => {
    const spine = await openServer(t);
    const readers = await Promise.all(
      Array.from({ length: 500 }, (_, n) =>
        readEvents(spine.url, { token: n % 2 === 0 ? spine.tokens.head : spine.tokens.left }),
      ),
    );
    const refused = await spine.right.get('/events');
    deepStrictEqual(
      [refused.status, refused.body['error'], refused.headers['retry-after']],
      [429, 'overloaded', '5'],
    );
    readers.pop()?.close();
    await until('there is room', async () => (await spine.right.get('/events')).status === 200);
    await spine.head.post('/jobs', { target: 'left-claw' });
    await Promise.all(readers.map((reader) => reader.first(1)));
    for (const reader of readers) reader.close();
  });

  test('show a sign of life, which also moves a reader past what it did not ask for', async (t) => {
    const timers: { delayMs: number; task: () => void }[] = [];
    const spine = await openServer(t, ({ clock }) => ({
      clock: {
        now: () => clock.now(),
        after: (delayMs, task) => {
          timers.push({ delayMs, task });
          return () => undefined;
        },
      },
    }));
    const reader = await readEvents(spine.url, { token: spine.tokens.head, query: '?target=quiet' });
    const begun = reader.lastId;
    await spine.head.post('/jobs', { target: 'loud' });
    const all = await readEvents(spine.url, { token: spine.tokens.head, query: '?after=0' });
    const [event] = await all.first(1);
    const beat = timers.find(({ delayMs }) => delayMs === 15_000);
    await until('it is told', () => {
      beat?.task();
      return Promise.resolve(reader.lastId !== begun && reader.comments.includes('alive'));
    });
    deepStrictEqual([reader.lastId, reader.events.length], [event?.id, 0]);
    for (const each of [reader, all]) each.close();
  });

  test('go on after the feed could not be read for a while', async (t) => {
    let broken = false;
    const spine = await openServer(t, ({ engine }) => ({
      engine: {
        ...engine,
        jobs: {
          ...engine.jobs,
          feed: (after, limit) =>
            broken ? Promise.reject(new Error('no disk')) : engine.jobs.feed(after, limit),
        },
      },
    }));
    const reader = await readEvents(spine.url, { token: spine.tokens.head });
    await spine.head.post('/jobs', {});
    await reader.first(1);
    broken = true;
    await spine.head.post('/jobs', {});
    await until('it is logged', () => spine.logged.length > 0);
    match(spine.logged[0]?.message ?? '', /events could not be read/);
    broken = false;
    strictEqual((await reader.first(2)).length, 2);
    reader.close();
  });

  test('end without a body when only the headers are asked for', async (t) => {
    const spine = await openServer(t);
    const { status, headers } = await spine.head.request('HEAD', '/events');
    strictEqual(status, 200);
    match(headers['content-type'] ?? '', /event-stream/);
  });
});

const HEAD = { name: 'head', role: 'head', targets: null } as const;

/** What Node keeps for each connection of this server because its reader does not read. */
async function unsentBytes(port: number): Promise<number[]> {
  await new Promise((resolve) => setImmediate(resolve));
  const handles = (process as unknown as { _getActiveHandles(): unknown[] })._getActiveHandles();
  return handles
    .filter((handle): handle is { localPort: number; writableLength: number } => isSocketOf(handle, port))
    .map(({ writableLength }) => writableLength);
}

function isSocketOf(handle: unknown, port: number): boolean {
  return (
    (handle as { localPort?: number } | null)?.localPort === port && 'writableLength' in (handle as object)
  );
}
