import { strictEqual } from 'node:assert';
import { suite, test } from 'node:test';
import { readEvents, type SeenEvent } from '../http/stream.ts';
import { until } from '../support/clock.ts';
import { freshDatabase, skipWithoutPostgres } from '../support/postgres.ts';
import { startServer } from '../support/server.ts';
import { ON_EVERY_STORE, spineContract } from './spine.ts';

spineContract({
  name: 'PostgreSQL',
  skip: skipWithoutPostgres,
  cases: ON_EVERY_STORE,
  start: async (options) => {
    const database = await freshDatabase(process.env['TEST_POSTGRES_URL'] ?? '');
    const server = await startServer({ ...options, databaseUrl: database.url });
    const stop = async (): Promise<void> => {
      await server.stop();
      await database.drop();
    };
    // A copy would read the changing properties (pid, running) only once.
    return Object.create(server, {
      stop: { value: stop },
      [Symbol.asyncDispose]: { value: stop },
    }) as typeof server;
  },
});

suite('two servers on one PostgreSQL', { skip: skipWithoutPostgres }, () => {
  test('tell the same events, and a reader goes on at the other without loss or repetition', async () => {
    const database = await freshDatabase(process.env['TEST_POSTGRES_URL'] ?? '');
    const servers = await Promise.all([1, 2].map(() => startServer({ databaseUrl: database.url })));
    try {
      const follow = (n: number, lastEventId: string) =>
        readEvents(servers[n % 2]?.url ?? '', { token: servers[n % 2]?.tokens.head ?? '', lastEventId });
      const seen: SeenEvent[] = [];
      const writing = Promise.all(
        servers.map(async ({ head }) => {
          for (let n = 0; n < 100; n++) await head.post('/jobs', { spec: n });
        }),
      );
      for (let n = 0; seen.length < 200; n++) {
        const reader = await follow(n, seen.at(-1)?.id ?? '0');
        await reader.first(Math.min(7, 200 - seen.length));
        reader.close();
        await reader.closed;
        seen.push(...reader.events);
      }
      await writing;
      strictEqual(new Set(seen.map(({ id }) => id)).size, 200);
      strictEqual(new Set(seen.map(({ data }) => data['jobId'])).size, 200);
    } finally {
      await Promise.all(servers.map((server) => server.stop()));
      await database.drop();
    }
  });

  test('both end the streams of a token that one of them revokes', async () => {
    const database = await freshDatabase(process.env['TEST_POSTGRES_URL'] ?? '');
    const [one, other] = await Promise.all([1, 2].map(() => startServer({ databaseUrl: database.url })));
    try {
      const made = await one?.head.post<{ token: string }>('/tokens', { name: 'eyes', role: 'viewer' });
      const token = made?.body.token ?? '';
      // Other servers look for new tokens once a second.
      let reader = await readEvents(other?.url ?? '', { token });
      await until('the other server knows the token', async () => {
        if (reader.status === 401) reader = await readEvents(other?.url ?? '', { token });
        return reader.status === 200;
      });
      await one?.head.request('DELETE', '/tokens/eyes');
      await reader.closed;
      strictEqual((await readEvents(other?.url ?? '', { token })).status, 401);
    } finally {
      await Promise.all([one?.stop(), other?.stop()]);
      await database.drop();
    }
  });
});
