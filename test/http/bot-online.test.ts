import { deepStrictEqual, ok, strictEqual } from 'node:assert';
import { test } from 'node:test';
import { LIMITS } from '../../src/domain/limits.ts';
import { FakeClock } from '../support/clock.ts';
import { loggedIn } from './bots.ts';
import { openServer } from './server.ts';

const ADMIN = '/api/v1/admin/workers';
const WORKER = '/api/v1/worker';
const FIVE_MINUTES_MS = 300_000;

interface Listed {
  readonly data: readonly { readonly is_online: boolean; readonly last_activity_at: string | null }[];
}

interface LoginBody {
  readonly access_token: string;
  readonly refresh_token: string;
  readonly expires_in: number;
  readonly user: Readonly<Record<string, unknown>>;
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

test('logging in, staying so and logging out is answered in the words of the text [TQ-13 TQ-41]', async (t) => {
  const clock = new FakeClock();
  const spine = await openServer(t, () => ({}), { clock });
  await loggedIn(t, spine, 'w1', { worker: true });
  const { anyone } = spine;
  const email = 'w1@example.org';
  const password = 'a password of some length';
  const login = await anyone.post<LoginBody>('/api/v1/auth/login', { email, password });
  strictEqual(login.status, 200, login.text);
  const { access_token: access, refresh_token: refresh, user, ...rest } = login.body;
  deepStrictEqual(rest, { expires_in: 3_600 });
  const { id, created_at: createdAt, ...known } = user;
  ok(/^[\da-f-]{36}$/.test(String(id)) && !Number.isNaN(Date.parse(String(createdAt))));
  const now = new Date(clock.now()).toISOString();
  deepStrictEqual(known, {
    email,
    full_name: 'w1',
    timezone: 'UTC',
    email_verified: true,
    is_premium: false,
    is_admin: false,
    is_worker: true,
    last_login_at: now,
    last_activity_at: null,
  });
  await clock.advance(1_000);
  const again = await anyone.post<LoginBody>('/api/v1/auth/refresh', { refresh_token: refresh });
  strictEqual(again.status, 200, again.text);
  ok(again.body.access_token !== access);
  deepStrictEqual(again.body, { ...login.body, access_token: again.body.access_token });

  const said = async (path: string, body: object): Promise<unknown[]> => {
    const answer = await anyone.post<{ error?: string; message?: string }>(`/api/v1/auth/${path}`, body);
    const { error, message } = answer.body;
    return [answer.status, error ?? message];
  };
  const wrong = [401, 'Invalid email or password'];
  const out = [200, 'Logged out successfully'];
  const expired = [401, 'Invalid or expired refresh token'];
  for (const [path, body, expected] of [
    ['login', { email, password: 'another' }, wrong],
    ['login', { email: 'nobody@example.org', password }, wrong],
    ['refresh', { refresh_token: 'nonsense' }, expired],
    ['refresh', { refresh_token: access }, expired],
    ['logout', { refresh_token: 'nonsense' }, out],
    ['logout', { refresh_token: refresh }, out],
    ['logout', { refresh_token: refresh }, out],
    ['refresh', { refresh_token: refresh }, expired],
  ] as const)
    deepStrictEqual(await said(path, body), expected, `${path} ${JSON.stringify(body)}`);
  for (const [path, body] of [
    ['login', { email }],
    ['login', { password }],
    ['refresh', {}],
    ['logout', {}],
  ] as const)
    strictEqual((await said(path, body))[0], 400, path);
  // Each counts before it is judged.
  const guesses = Array.from({ length: LIMITS.loginFailures }, () => ({ email, password: 'a guess' }));
  const answers = await Promise.all(guesses.map((guess) => said('login', guess)));
  // One was wrong before.
  strictEqual(answers.filter(([status]) => status === 401).length, LIMITS.loginFailures - 1);
  deepStrictEqual(await said('login', { email, password }), [
    429,
    'Too many requests. Please try again later.',
  ]);
  await clock.advance(LIMITS.loginWindowMs);
  deepStrictEqual(await said('login', { email, password }), [200, undefined]);
});
