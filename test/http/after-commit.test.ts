import { deepStrictEqual, doesNotMatch, ok, strictEqual } from 'node:assert';
import { suite, test, type TestContext } from 'node:test';
import { SpineError } from '../../src/domain/error.ts';
import { openSqlite } from '../../src/store/sqlite.ts';
import type { Store } from '../../src/store/store.ts';
import type { Answer, HttpClient, JobBody } from '../support/http.ts';
import { loggedIn } from './bots.ts';
import { openServer } from './server.ts';

interface Refused {
  readonly error: string;
}

interface Callers {
  readonly head: HttpClient;
  readonly left: HttpClient;
  readonly admin: HttpClient;
  readonly bot: HttpClient;
  /** What left-claw holds. */
  readonly held: JobBody;
  /** The task that the bot has. */
  readonly task: string;
}

/** Each changes something, and then reads what its answer shows. */
const CALLS: Readonly<Record<string, (callers: Callers) => Promise<Answer<unknown>>>> = {
  'a child': ({ left, held }) => left.post('/jobs', { target: 'any', parentId: held.id }),
  'a comment': ({ left, held }) => left.post(`/jobs/${held.id}/comment`, { text: 'on the way' }),
  'a message': ({ head }) => head.post('/messages', { to_agent: 'left-claw', body: 'when?' }),
  'a task at the bridge': ({ head }) => head.post('/api/tasks', { title: 'Water the plants' }),
  'a task of bots': ({ admin }) => admin.post('/api/v1/admin/workers/tasks', { title: 'Crawl' }),
  'an update of a bot': ({ bot, task }) =>
    bot.post(`/api/v1/worker/tasks/${task}/updates`, { content: '300 posts' }),
  'data of a bot': ({ bot, task }) =>
    bot.post(`/api/v1/worker/tasks/${task}/data`, { data_type: 'posts', items: [{ data: 1 }] }),
  'a schedule': ({ head }) =>
    head.post('/schedules', {
      name: 'nightly',
      schedule: '0 3 * * *',
      session_target: 'queue',
      target: 'ops',
    }),
  'a revoked token': ({ head }) => head.request('DELETE', '/tokens/old'),
  'the end of a job': ({ left, held }) =>
    left.post(`/jobs/${held.id}/complete`, { leaseToken: held.leaseToken, result: 'x'.repeat(70_000) }),
};

suite('a database that goes away between a commit and its answer', () => {
  test('is never told as if nothing had been changed', async (t) => {
    const { store, callers } = await opened(t);
    const refused: string[] = [];
    for (const [name, send] of Object.entries(CALLS)) {
      // Data is announced before it is kept.
      store.leavesAfter = name === 'data of a bot' ? 2 : 1;
      const answer = await send(callers);
      strictEqual(store.comesBack(), true, `${name} committed nothing`);
      const { text, status } = answer;
      // What can be shown without another look at the database is.
      ok(status === 504 || status < 300, `${name}: ${text}`);
      doesNotMatch(text, /nothing was changed/i, name);
      if (status === 504) refused.push(name);
    }
    deepStrictEqual(
      Object.keys(CALLS).filter((name) => !refused.includes(name)),
      ['an update of a bot'],
    );
  });

  test('costs nobody the token that was made: it is shown once, or never', async (t) => {
    const { store, callers } = await opened(t);
    store.leavesAfter = 1;
    const { status, body } = await callers.head.post<{ token: string }>('/tokens', {
      name: 'builder',
      role: 'viewer',
    });
    deepStrictEqual([status, body.token.slice(0, 4), store.comesBack()], [201, 'spn_', true]);
  });

  test('is told as such where nothing was committed, or where what was claimed is given back', async (t) => {
    const { store, callers } = await opened(t);
    const { head, left, held } = callers;
    store.away = true;
    const before = await left.post<Refused>(`/jobs/${held.id}/comment`, { text: 'too early' });
    strictEqual(store.comesBack(), true);
    deepStrictEqual([before.status, before.body.error], [503, 'store_unavailable']);
    const job = (await head.post<JobBody>('/jobs', { target: 'any', type: 'new' })).body;
    store.leavesAfter = 1;
    const claimed = await left.post<Refused>(`/jobs/${job.id}/claim`);
    strictEqual(store.comesBack(), true);
    deepStrictEqual([claimed.status, claimed.body.error], [503, 'store_unavailable']);
  });
});

async function opened(t: TestContext): Promise<{ store: Leaving; callers: Callers }> {
  const store = new Leaving(openSqlite({ file: ':memory:', identity: 'away' }));
  const spine = await openServer(t, () => ({}), { store: store.store });
  t.after(() => store.store.close());
  const { head, left } = spine;
  const admin = await loggedIn(t, spine, 'Ada', { admin: true });
  const bot = await loggedIn(t, spine, 'Genesis', { worker: true });
  await head.post('/tokens', { name: 'old', role: 'viewer' });
  await admin.post('/api/v1/admin/workers/tasks', { title: 'Crawl' });
  const task = (await bot.post<{ data: { id: string } }>('/api/v1/worker/tasks/claim', {})).body.data.id;
  const made = (await head.post<JobBody>('/jobs', { target: 'left-claw' })).body;
  const held = (await left.post<JobBody>(`/jobs/${made.id}/claim`)).body;
  return { store, callers: { head, left, admin, bot, held, task } };
}

/** A store that can be away for everything but looking up who calls. */
class Leaving {
  readonly store: Store;
  away = false;
  /** How many commits from now; 0 is never. */
  leavesAfter = 0;

  constructor(inner: Store) {
    const check = (): void => {
      if (this.away) throw new SpineError('store_unavailable');
    };
    const read = guarded(inner.read, (noun) => guarded(noun as object, (verb) => checked(verb, check)));
    const transaction: Store['transaction'] = async (lane, work) => {
      check();
      const value = await inner.transaction(lane, work);
      if (this.leavesAfter > 0) this.away = --this.leavesAfter === 0;
      return value;
    };
    const own: Partial<Store> = { read, transaction };
    this.store = guarded(inner, (value, name) => own[name] ?? bound(value, inner));
  }

  /** Whether it was away. */
  comesBack(): boolean {
    const wasAway = this.away;
    this.leavesAfter = 0;
    this.away = false;
    return wasAway;
  }
}

type Verb = (...args: unknown[]) => unknown;

function checked(verb: unknown, check: () => void): Verb {
  return async (...args) => {
    check();
    return (verb as Verb)(...args);
  };
}

function bound(value: unknown, inner: object): unknown {
  return typeof value === 'function' ? (value as Verb).bind(inner) : value;
}

function guarded<T extends object>(inner: T, change: (value: unknown, name: keyof T) => unknown): T {
  return new Proxy(inner, {
    get: (target, name) => change(Reflect.get(target, name), name as keyof T),
  });
}
