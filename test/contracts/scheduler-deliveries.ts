import { deepStrictEqual, match, ok, strictEqual } from 'node:assert';
import { suite, test } from 'node:test';
import { httpClient } from '../support/http.ts';
import {
  claim,
  complete,
  queueSchedule,
  runNow,
  sharedScheduler,
  type StartScheduler,
  until,
} from './scheduler-cases.ts';
import { expectStatus } from './spine-cases.ts';
import { webhookReceiver } from '../support/receivers.ts';

interface Delivery {
  readonly id: string;
  readonly status: string;
  readonly attempts: number;
  readonly alias: string | null;
  readonly target: string;
  readonly error: string | null;
  readonly proof: unknown;
}

export function deliveryCases(start: StartScheduler): void {
  suite('aliases and deliveries', () => {
    // One host that may be called, and one that may not, both on this machine.
    const server = sharedScheduler(start, {
      env: { SCHEDULER_TICK_MS: '200', SPINE_WEBHOOK_ALLOWED_HOSTS: '127.0.0.1' },
    });
    const list = async (query = ''): Promise<Delivery[]> =>
      expectStatus(await server().head.get<{ deliveries: Delivery[] }>(`/deliveries${query}`), 200)
        .deliveries;

    test('[SC-50] an alias is made, replaced, listed and removed', async () => {
      const { head } = server();
      const body = { alias: '@admin', channel: 'telegram', target: '1', description: 'Admin DM' };
      const made = expectStatus(await head.post('/aliases', body), 201);
      deepStrictEqual(made, { ...body, alias: 'admin', created_at: made['created_at'] });
      expectStatus(await head.post('/aliases', { alias: 'admin', channel: 'slack', target: '#x' }), 201);
      const { aliases } = expectStatus(await head.get<{ aliases: object[] }>('/aliases'), 200);
      deepStrictEqual(aliases, [
        { alias: 'admin', channel: 'slack', target: '#x', description: null, created_at: made['created_at'] },
      ]);
      const rows = await server().query('select alias, channel, target from delivery_aliases');
      deepStrictEqual(
        rows.map((row) => ({ ...row })),
        [{ alias: 'admin', channel: 'slack', target: '#x' }],
      );
      deepStrictEqual(expectStatus(await head.request('DELETE', '/aliases/@admin'), 200), {
        alias: 'admin',
        removed: true,
      });
      expectStatus(await head.request('DELETE', '/aliases/admin'), 404);
    });

    test('what cannot be an alias, a subscription or a place is refused with its field', async () => {
      const { head } = server();
      const wrong: readonly (readonly [string, object, string])[] = [
        ['/aliases', { alias: 'a b', channel: 'telegram', target: '1' }, 'alias'],
        ['/aliases', { alias: '', channel: 'telegram', target: '1' }, 'alias'],
        ['/aliases', { alias: 'a', channel: 'telegram' }, 'target'],
        ['/aliases', { alias: 'a', channel: 'TELEGRAM', target: '1' }, 'channel'],
        ['/aliases', { alias: 'a', channel: 'webhook', target: 'http://0x7f.2/' }, 'target'],
        ['/aliases', { alias: 'a', channel: 'webhook', target: 'http://[::ffff:7f00:1]/' }, 'target'],
        ['/aliases', { alias: 'a', channel: 'webhook', target: 'http://localhost/' }, 'target'],
        ['/aliases', { alias: 'a', channel: 'webhook', target: 'x'.repeat(3_000) }, 'target'],
        ['/aliases', { alias: 'a', channel: 'gateway', target: 'moon/telegram:1' }, 'target'],
        ['/subscriptions', { alias: 'nobody', events: ['done'] }, 'alias'],
        ['/subscriptions', { alias: 'nobody', events: [] }, 'events'],
        ['/subscriptions', { alias: 'nobody', events: ['sunrise'] }, 'events'],
        [
          '/schedules',
          { name: 'x', schedule_kind: 'manual', session_target: 'queue', delivery_to: '@nobody' },
          'delivery_to',
        ],
        [
          '/schedules',
          {
            name: 'x',
            schedule_kind: 'manual',
            session_target: 'queue',
            delivery_to: 'http://169.254.169.254/',
          },
          'delivery_to',
        ],
      ];
      for (const [path, body, field] of wrong) {
        const answer = expectStatus(await head.post<{ field?: string }>(path, body), 400);
        match(answer.field ?? '', new RegExp(`^${field}`), JSON.stringify([body, answer]));
      }
      expectStatus(await head.get('/deliveries?status=lost'), 400);
      expectStatus(await head.get('/deliveries?run_id=nothing'), 404);
      expectStatus(await head.post('/deliveries/nothing/retry'), 404);
    });

    test('a run is delivered to a webhook, with proof; viewers are not shown the path of its URL', async () => {
      await using receiver = await webhookReceiver();
      const { head, url } = server();
      const alias = { alias: 'hook', channel: 'webhook', target: `${receiver.url}/secret-path` };
      expectStatus(await head.post('/aliases', alias), 201);
      const made = await queueSchedule(server(), { delivery_to: '@hook' });
      const runId = await runNow(server(), made.id);
      await complete(server(), await claim(server(), made.type), { text: 'All done' });
      const [delivery] = await until(
        () => list(`?run_id=${runId}`),
        ([first]) => first?.status === 'delivered',
        'not delivered',
      );
      strictEqual(delivery?.attempts, 1);
      strictEqual(delivery.alias, '@hook');
      deepStrictEqual(delivery.proof, { status: 200 });
      const [got] = receiver.taken;
      strictEqual(got?.path, '/secret-path');
      strictEqual(got.headers['x-spine-notice'], delivery.id);
      const { text, run_id, schedule_id, kind } = got.body;
      deepStrictEqual([text, run_id, schedule_id, kind], ['All done', runId, made.id, 'result']);
      const viewer = expectStatus(
        await head.post<{ token: string }>('/tokens', { name: 'wall', role: 'viewer' }),
        201,
      );
      const wall = httpClient(url, { token: viewer.token });
      for (const path of ['/aliases', '/deliveries', `/runs/${runId}`]) {
        const answer = await wall.get(path);
        strictEqual(answer.status, 200);
        ok(!answer.text.includes('secret-path'), path);
      }
      wall.close();
    });

    test('a subscription is told of what it asked for, and can be removed', async () => {
      await using receiver = await webhookReceiver();
      const { head, left } = server();
      expectStatus(
        await head.post('/aliases', { alias: 'watch', channel: 'webhook', target: receiver.url }),
        201,
      );
      const made = expectStatus(
        await head.post<{ id: string }>('/subscriptions', {
          alias: '@watch',
          events: ['failed', 'dead'],
          type: 'watched',
        }),
        201,
      );
      const listed = expectStatus(
        await head.get<{ subscriptions: Record<string, unknown>[] }>('/subscriptions'),
        200,
      );
      deepStrictEqual(
        listed.subscriptions.map(({ alias, events, type, target }) => [alias, events, type, target]),
        [['@watch', ['failed', 'dead'], 'watched', null]],
      );
      expectStatus(await head.request('DELETE', '/aliases/watch'), 409);
      const { id } = expectStatus(
        await head.post<{ id: string }>('/jobs', { target: 'left-claw', type: 'watched', title: 'Watched' }),
        201,
      );
      const { leaseToken } = expectStatus(await left.post<{ leaseToken: string }>(`/jobs/${id}/claim`), 200);
      expectStatus(
        await left.post(`/jobs/${id}/fail`, { error: 'no disk', requeue: false, leaseToken }),
        200,
      );
      await until(
        async () => receiver.taken.length,
        (count) => count === 1,
        'nobody was told',
      );
      match(String(receiver.taken[0]?.body['text']), /^⚠️ Job failed: Watched \(#\d+\)\n\nno disk$/);
      expectStatus(await head.request('DELETE', `/subscriptions/${made.id}`), 200);
      expectStatus(await head.request('DELETE', `/subscriptions/${made.id}`), 404);
    });

    test('an alias that is gone fails where people see it, and can be sent to when it is back', async () => {
      const { head } = server();
      expectStatus(
        await head.post('/aliases', { alias: 'gone', channel: 'log', description: 'the log' }),
        201,
      );
      const made = await queueSchedule(server(), { delivery_to: 'gone' });
      expectStatus(await head.request('DELETE', '/aliases/gone'), 200);
      const runId = await runNow(server(), made.id);
      await complete(server(), await claim(server(), made.type), { text: 'hello' });
      const [failed] = await until(
        () => list(`?run_id=${runId}`),
        (found) => found.length === 1,
        'no delivery',
      );
      deepStrictEqual([failed?.status, failed?.error], ['failed', 'there is no alias @gone']);
      expectStatus(await head.post(`/deliveries/${failed?.id}/retry`), 409);
      expectStatus(await head.post('/aliases', { alias: 'gone', channel: 'log' }), 201);
      expectStatus(await head.post(`/deliveries/${failed?.id}/retry`), 200);
      await until(
        () => list(`?run_id=${runId}`),
        ([first]) => first?.status === 'delivered',
        'not delivered',
      );
    });
  });
}
