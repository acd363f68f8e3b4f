import { deepStrictEqual, match, ok, strictEqual } from 'node:assert';
import { suite, test } from 'node:test';
import { type EventReader, readEvents } from '../http/stream.ts';
import { validator, type Json, description } from '../http/description.ts';
import { claimJob, createJob, expectRefusal, expectStatus, sharedServer, type Start } from './spine-cases.ts';

/** Nobody is asked again before 15 seconds are over, and a stop waits for 10. */
const SOON_MS = 8_000;

const idsOf = ({ events }: Pick<EventReader, 'events'>): string[] => events.map(({ id }) => id);

export function eventCases(start: Start): void {
  suite('the stream of events', () => {
    const server = sharedServer(start);
    const follow = (query = '', lastEventId?: string, token = server().tokens.head): Promise<EventReader> =>
      readEvents(server().url, { token, query, ...(lastEventId !== undefined && { lastEventId }) });

    test('tells what happens, as it happens', async () => {
      const reader = await follow();
      strictEqual(reader.status, 200);
      match(reader.headers['content-type'] ?? '', /^text\/event-stream/);
      strictEqual(reader.headers['x-content-type-options'], 'nosniff');
      const job = await createJob(server().head);
      await claimJob(server().left, job.id);
      await server().left.post(`/jobs/${job.id}/complete`);
      const events = await reader.first(3);
      deepStrictEqual(
        events.map(({ type, data }) => [type, data['jobId'], data['seq'], data['by'], data['target']]),
        [
          ['job.created', job.id, 1, 'head', 'left-claw'],
          ['job.claimed', job.id, 2, 'left-claw', 'left-claw'],
          ['job.completed', job.id, 3, 'left-claw', 'left-claw'],
        ],
      );
      const fits = validator('FeedEvent', description.components.schemas['FeedEvent'] as Json);
      for (const { type, data } of events) {
        ok(fits(data), JSON.stringify(data));
        deepStrictEqual([data['type'], data['no']], [type, job['no']]);
      }
      reader.close();
    });

    test('goes on where a reader left off, without loss or repetition, for any number of readers', async () => {
      const begin = await follow();
      await createJob(server().head, { tags: ['stream'] });
      const [first] = await begin.first(1);
      const start = first?.id ?? '';
      const everything = await follow(`?after=${start}`);
      let cut = await follow('', start);
      const seen: string[] = [];
      for (let round = 0; round < 10; round++) {
        const jobs = Array.from({ length: 5 }, () => ({ target: 'stream' }));
        expectStatus(await server().head.post('/jobs/batch', { jobs }), 201);
        await cut.first(1 + (round % 5));
        cut.close();
        await cut.closed;
        seen.push(...idsOf(cut));
        cut = await follow('', seen.at(-1));
      }
      await cut.first(50 - seen.length);
      seen.push(...idsOf(cut));
      await Promise.all([everything.first(50), begin.first(51)]);
      strictEqual(new Set(seen).size, 50);
      deepStrictEqual(seen, idsOf(everything));
      deepStrictEqual(seen, idsOf(begin).slice(1));
      for (const reader of [begin, everything, cut]) reader.close();
    });

    test('goes on behind any event, also in the middle of what was committed together', async () => {
      const begin = await follow();
      const jobs = Array.from({ length: 4 }, () => ({ target: 'stream' }));
      expectStatus(await server().head.post('/jobs/batch', { jobs }), 201);
      await begin.first(4);
      const ids = idsOf(begin);
      strictEqual(new Set(ids.map((id) => id.split('.')[0])).size, 1, 'one commit');
      for (const [i, id] of ids.slice(0, -1).entries()) {
        const reader = await follow('', id);
        await reader.first(3 - i);
        deepStrictEqual(idsOf(reader).slice(0, 3 - i), ids.slice(i + 1));
        reader.close();
      }
      begin.close();
    });

    test('begins at the beginning when asked to', async () => {
      const reader = await follow('?after=0');
      const [first] = await reader.first(1);
      deepStrictEqual([first?.type, first?.data['seq']], ['job.created', 1]);
      reader.close();
      const cutAtOnce = await follow('', '0');
      deepStrictEqual((await cutAtOnce.first(1))[0], first);
      cutAtOnce.close();
    });

    test('shows only what was asked for', async () => {
      const { id } = await createJob(server().head, { target: 'wanted' });
      const readers = await Promise.all([
        follow('?after=0&target=wanted,other'),
        follow('?type=job.comment,job.cancelled'),
        follow(`?after=0&jobId=${id}&type=job.comment,job.cancelled`),
      ]);
      await createJob(server().head, { target: 'unwanted' });
      await server().head.post(`/jobs/${id}/comment`, { text: 'look' });
      await server().head.post(`/jobs/${id}/cancel`);
      for (const [index, reader] of readers.entries()) {
        const expected = [...(index === 0 ? ['job.created'] : []), 'job.comment', 'job.cancelled'];
        const events = await reader.first(expected.length);
        deepStrictEqual(
          events.map(({ type }) => type),
          expected,
        );
        reader.close();
      }
    });

    test('shows a worker its own targets, and refuses it others', async () => {
      const reader = await follow('', undefined, server().tokens.left);
      await createJob(server().head, { target: 'right-claw' });
      const { id } = await createJob(server().head, { target: 'any' });
      const [first] = await reader.first(1);
      strictEqual(first?.data['jobId'], id);
      reader.close();
      const foreign = await createJob(server().head, { target: 'right-claw' });
      expectRefusal(await server().left.get('/events?target=right-claw'), 403, 'forbidden');
      expectRefusal(await server().left.get(`/events?jobId=${foreign.id}`), 403, 'forbidden');
      expectRefusal(await server().left.get('/events?jobId=nothing'), 404, 'not_found');
    });

    test('shows a viewer of some targets those alone, and refuses it others', async () => {
      const draft = { name: 'narrow-eyes', role: 'viewer', targets: ['seen'] };
      const { token } = expectStatus(await server().head.post<{ token: string }>('/tokens', draft), 201);
      const reader = await follow('', undefined, token);
      const all = await follow();
      await createJob(server().head, { target: 'right-claw' });
      const { id } = await createJob(server().head, { target: 'seen' });
      await Promise.all([reader.first(1), all.first(2)]);
      deepStrictEqual(
        reader.events.map(({ data }) => data['jobId']),
        [id],
      );
      for (const each of [reader, all]) each.close();
      const foreign = await readEvents(server().url, { token, query: '?target=right-claw' });
      strictEqual(foreign.status, 403);
      foreign.close();
    });

    test('refuses places, types and targets that cannot be', async () => {
      for (const query of ['after=x', 'after=-1', 'after=1.2.3', 'type=job.nothing', 'target=a,,b', 'x=1'])
        expectStatus(await server().head.get(`/events?${query}`), 400);
      expectRefusal(
        await server().head.get('/events', { headers: { 'last-event-id': 'yesterday' } }),
        400,
        'bad_request',
        { field: 'Last-Event-ID' },
      );
    });

    test('follows from the end when the named place is beyond it', async () => {
      const reader = await follow('', '999999999.0');
      await createJob(server().head);
      await reader.first(1);
      match(reader.comments[0] ?? '', /^the feed ends at \d+\.\d+/);
      reader.close();
    });

    test('ends at once for a token that is revoked, and for no other', async () => {
      const made = expectStatus(
        await server().head.post<{ token: string }>('/tokens', { name: 'watcher', role: 'viewer' }),
        201,
      );
      const [watcher, other] = await Promise.all([follow('', undefined, made.token), follow()]);
      const since = performance.now();
      expectStatus(await server().head.request('DELETE', '/tokens/watcher'), 200);
      await watcher.closed;
      ok(performance.now() - since < SOON_MS);
      match(watcher.comments.at(-1) ?? '', /the token is no longer valid/);
      await createJob(server().head);
      await other.first(1);
      other.close();
    });

    test('is taken up again after a restart of the server', async () => {
      await using own = await start({});
      const before = await readEvents(own.url, { token: own.tokens.head });
      const ids: string[] = [];
      for (let n = 0; n < 3; n++) ids.push((await createJob(own.head)).id);
      await before.first(2);
      const seen = [...before.events];
      before.close();
      await own.restart();
      ids.push((await createJob(own.head)).id);
      const after = await readEvents(own.url, { token: own.tokens.head, lastEventId: seen.at(-1)?.id ?? '' });
      await after.first(4 - seen.length);
      deepStrictEqual(
        [...seen, ...after.events].map(({ data }) => data['jobId']),
        ids,
      );
      after.close();
    });

    test('lets the server stop, and says so', async () => {
      await using own = await start({});
      const reader = await readEvents(own.url, { token: own.tokens.head });
      const since = performance.now();
      await own.kill('SIGTERM');
      await reader.closed;
      ok(performance.now() - since < SOON_MS);
      match(reader.comments.at(-1) ?? '', /this server is stopping/);
    });
  });
}
