import { deepStrictEqual, ok } from 'node:assert';
import { test } from 'node:test';
import { FakeClock } from '../support/clock.ts';
import { loggedIn } from './bots.ts';
import { openServer } from './server.ts';

const ADMIN = '/api/v1/admin/workers';
const WORKER = '/api/v1/worker';
const FIVE_MINUTES_MS = 300_000;

interface Listed {
  readonly data: readonly { readonly is_online: boolean; readonly last_activity_at: string | null }[];
}

test('a worker is online for five minutes after any call of its own, and by no call of an admin [TQ-12 L13]', async (t) => {
  const clock = new FakeClock();
  const spine = await openServer(t, () => ({}), { clock });
  const [admin, bot] = [
    await loggedIn(t, spine, 'ada', { admin: true }),
    await loggedIn(t, spine, 'w1', { worker: true }),
  ];
  const shown = async (): Promise<Listed['data'][number]> => {
    const [worker] = (await admin.get<Listed>(ADMIN)).body.data;
    ok(worker);
    return worker;
  };
  deepStrictEqual(await shown(), { ...(await shown()), is_online: false, last_activity_at: null });
  let before = '';
  for (const call of [
    () => bot.post(`${WORKER}/heartbeat`, {}),
    () => bot.post(`${WORKER}/tasks/claim`, {}),
    () => bot.get(`${WORKER}/tasks`),
    () => bot.get(`${WORKER}/task-types`),
    () => bot.get(`${WORKER}/tasks/nothing`),
  ]) {
    await call();
    const heardAt = new Date(clock.now()).toISOString();
    await clock.advance(FIVE_MINUTES_MS - 1);
    deepStrictEqual([(await shown()).is_online, (await shown()).last_activity_at], [true, heardAt]);
    await clock.advance(1);
    deepStrictEqual([(await shown()).is_online, (await shown()).last_activity_at], [false, heardAt]);
    ok(heardAt > before);
    before = heardAt;
  }
});
