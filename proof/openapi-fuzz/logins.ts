import { strictEqual } from 'node:assert';
import { type HttpClient, httpClient } from '../../test/support/http.ts';
import type { TestServer } from '../../test/support/server.ts';

const PASSWORD = 'a password of some length';
const ADMIN = '/api/v1/admin/workers';
const WORKER = '/api/v1/worker';

/** Those who log in, at the door that takes no other token. */
export interface Logins extends Disposable {
  readonly admin: HttpClient;
  readonly bot: HttpClient;
  /** The access token of each role of the description. */
  readonly tokens: Readonly<Record<'head' | 'worker' | 'viewer', string>>;
  readonly known: Known;
}

export type Known = Readonly<Record<string, readonly unknown[]>>;

interface LoggedIn {
  readonly access_token: string;
  readonly refresh_token: string;
  readonly user: { readonly id: string };
}

interface Made {
  readonly data: { readonly id: string };
}

/** An admin, a bot, somebody who is neither, and a worker that may be removed; with a type that has instructions. */
export async function logIn(server: TestServer): Promise<Logins> {
  const [head, worker, viewer, spare] = await Promise.all(
    ['admin', 'bot', 'guest', 'spare'].map(async (fullName) => {
      const [admin, isWorker] = [fullName === 'admin', fullName === 'bot' || fullName === 'spare'];
      const email = `${fullName}@fuzz.example`;
      const user = { email, password: PASSWORD, fullName, admin, worker: isWorker };
      strictEqual((await server.head.post('/users', user)).status, 201);
      const login = await server.anyone.post<LoggedIn>('/api/v1/auth/login', { email, password: PASSWORD });
      return login.body;
    }),
  );
  if (!head || !worker || !viewer || !spare) throw new Error('somebody could not log in');
  const admin = httpClient(server.url, { token: head.access_token });
  const bot = httpClient(server.url, { token: worker.access_token });
  const schema = { type: 'object', properties: { ticker: { type: 'string' } } };
  const type = { name: 'crawl', label: 'Crawl', sop: 'Do it.', param_schema: schema };
  const { data } = (await admin.post<Made>(`${ADMIN}/task-types`, type)).body;
  return {
    admin,
    bot,
    tokens: {
      head: head.access_token,
      worker: worker.access_token,
      viewer: viewer.access_token,
    },
    known: {
      email: ['admin@fuzz.example', 'bot@fuzz.example', 'new@fuzz.example'],
      password: [PASSWORD, PASSWORD, 'wrong'],
      full_name: ['W', 'Ärger'],
      refresh_token: [viewer.refresh_token, head.access_token],
      task_type_id: [data.id, data.id, null, 999],
      task_type: ['crawl', 'none'],
      assigned_to: [worker.user.id, null, spare.user.id],
      status: ['pending', 'in_progress', 'completed', 'failed'],
      priority: ['low', 'medium', 'high', 'urgent'],
      name: ['crawl', 'crawl_2', 'Not a name'],
      params: [{ ticker: 'NVDA' }, null],
      param_schema: [schema, null, { type: 'object' }],
      data_type: ['posts', 'comments', '../x'],
      ticker: ['NVDA', '%'],
      items: [
        [{ data: { a: 1 } }],
        [
          { external_id: 'a', ticker: 'NVDA', data: 'x' },
          { external_id: 'a', data: [] },
        ],
        [],
      ],
      filename: ['a.csv', 'ä"\n.csv'],
      content_type: ['text/csv', 'nothing', null],
      idOfWorker: [spare.user.id],
      idOfType: [data.id, '999'],
    },
    [Symbol.dispose]: () => {
      admin.close();
      bot.close();
    },
  };
}

/** A task of the bot that waits, runs or has ended, with what was said, collected and put away for it. */
export async function aimOfBot({ admin, bot }: Logins, index: number): Promise<Known> {
  const task = { title: `Aim ${index}`, priority: 'urgent' };
  const { id } = (await admin.post<Made>(`${ADMIN}/tasks`, task)).body.data;
  const waiting = { idOfTask: [id], parent_task_id: [id, null] };
  if (index % 3 === 1) return waiting;
  const claimed = (await bot.post<Made>(`${WORKER}/tasks/claim`)).body.data as Made['data'] | null;
  if (claimed === null) return waiting;
  const path = `${WORKER}/tasks/${claimed.id}`;
  await bot.post(`${path}/updates`, { content: 'Begun.' });
  const batch = { data_type: 'posts', items: [{ external_id: 'first', ticker: 'NVDA', data: { a: 1 } }] };
  const kept = await bot.post<{ data: { key: string } }>(`${path}/data`, batch);
  const key = `worker-results/${claimed.id}/a.csv`;
  const file = await bot.post<Made>(`${path}/files`, { filename: 'a.csv', s3_key: key });
  if (index % 5 === 0)
    await bot.request('PUT', `${path}/status`, { body: { status: index % 2 ? 'failed' : 'completed' } });
  return {
    idOfTask: [claimed.id],
    parent_task_id: [claimed.id, null],
    key: [kept.body.data.key, `worker-data/${claimed.id}/none`],
    s3_key: [key, 'worker-results/other/a'],
    fileId: [file.body.data.id],
  };
}

/** What meets something that is there, at the paths of this door. */
export function knownToBots({ known }: Logins, aim: Known, path: string): Known {
  const id = /\/tasks\//.test(path)
    ? aim['idOfTask']
    : /\/task-types\//.test(path)
      ? known['idOfType']
      : known['idOfWorker'];
  return { ...known, ...aim, id: id ?? [] };
}
