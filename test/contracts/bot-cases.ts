import { ok, strictEqual } from 'node:assert';
import { type Answer, type HttpClient, httpClient } from '../support/http.ts';
import type { ServerOptions, TestServer } from '../support/server.ts';

export interface Bot {
  readonly id: string;
  readonly name: string;
  readonly email: string;
  readonly token: string;
  readonly http: HttpClient;
}

export interface BotServer {
  readonly server: TestServer;
  /** An admin that is no worker, a user that is neither, and workers: each costs two passwords, 60 ms of a processor. */
  readonly admin: Bot;
  readonly user: Bot;
  readonly bots: readonly Bot[];
  stop(): Promise<void>;
}

/** Without options it answers the one server that suites of the contract share; with options, if only {}, an own one. */
export type StartBots = (options?: ServerOptions, bots?: number) => Promise<BotServer>;

export interface Enveloped<T = unknown> {
  readonly success: boolean;
  readonly data: T;
  readonly error?: string;
  readonly message?: string;
  readonly has_more?: boolean;
}

export interface Task {
  readonly id: string;
  readonly title: string;
  readonly description: string | null;
  readonly status: string;
  readonly priority: string;
  readonly assigned_to: string | null;
  readonly assigned_to_name?: string;
  readonly task_type_id: number | null;
  readonly task_type?: {
    readonly id: number;
    readonly name: string;
    readonly label: string;
    readonly sop?: string | null;
    readonly max_retries: number;
  };
  readonly params: unknown;
  readonly result: unknown;
  readonly created_by: string;
  readonly created_by_name: string;
  readonly created_at: string;
  readonly started_at: string | null;
  readonly completed_at: string | null;
  readonly retry_count: number;
  readonly parent_task_id: string | null;
}

export const ADMIN = '/api/v1/admin/workers';
export const WORKER = '/api/v1/worker';
const PASSWORD = 'a password of some length';

let made = 0;

/** Adds those who log in, as operators and admins do. */
export async function peopled(server: TestServer, bots = 2): Promise<BotServer> {
  const round = ++made;
  const clients: HttpClient[] = [];
  const logIn = async (id: string, name: string, email: string): Promise<Bot> => {
    const answer = await server.anyone.post<{ access_token: string }>('/api/v1/auth/login', {
      email,
      password: PASSWORD,
    });
    strictEqual(answer.status, 200, answer.text);
    const http = httpClient(server.url, { token: answer.body.access_token });
    clients.push(http);
    return { id, name, email, token: answer.body.access_token, http };
  };
  const add = async (fullName: string, admin: boolean): Promise<Bot> => {
    const email = `${fullName.toLowerCase()}-${round}@example.org`;
    const answer = await server.head.post<{ id: string }>('/users', {
      email,
      password: PASSWORD,
      fullName,
      admin,
    });
    strictEqual(answer.status, 201, answer.text);
    return logIn(answer.body.id, fullName, email);
  };
  const admin = await add('Ada', true);
  const user = await add('Uma', false);
  const workers = await Promise.all(
    Array.from({ length: bots }, async (_, i) => {
      const email = `w${i + 1}-${round}@example.org`;
      const answer = await admin.http.post<Enveloped<{ id: string }>>(ADMIN, {
        email,
        password: PASSWORD,
        full_name: `W${i + 1}`,
      });
      strictEqual(answer.status, 201, answer.text);
      return logIn(answer.body.data.id, `W${i + 1}`, email);
    }),
  );
  return {
    server,
    admin,
    user,
    bots: workers,
    stop: async () => {
      for (const client of clients) client.close();
      await server.stop();
    },
  };
}

export function expectData<T>(answer: Answer<Enveloped<T>>, status = 200): T {
  strictEqual(answer.status, status, answer.text);
  strictEqual(answer.body.success, true, answer.text);
  return answer.body.data;
}

export function expectError(answer: Answer<unknown>, status: number, words: string | RegExp): void {
  strictEqual(answer.status, status, answer.text);
  const { success, error = '' } = answer.body as Enveloped;
  strictEqual(success, false, answer.text);
  if (typeof words === 'string') strictEqual(error, words);
  else ok(words.test(error), answer.text);
}

export async function addTask({ admin }: BotServer, fields: object = {}): Promise<Task> {
  return expectData(
    await admin.http.post<Enveloped<Task>>(`${ADMIN}/tasks`, { title: 'Crawl', ...fields }),
    201,
  );
}

export async function claim({ http }: Bot): Promise<Task | null> {
  return expectData(await http.post<Enveloped<Task | null>>(`${WORKER}/tasks/claim`, {}));
}

export async function claimed(bot: Bot): Promise<Task> {
  const task = await claim(bot);
  ok(task, 'there was nothing to claim');
  return task;
}

export function put(client: HttpClient, path: string, body: unknown) {
  return client.request<Enveloped<Task>>('PUT', path, { body });
}

export function move({ http }: Bot, id: string, status: unknown, more: object = {}) {
  return put(http, `${WORKER}/tasks/${id}/status`, { status, ...more });
}

export async function readTask({ admin }: BotServer, id: string): Promise<Task> {
  return expectData(await admin.http.get<Enveloped<Task>>(`${ADMIN}/tasks/${id}`));
}

export interface TaskType {
  readonly id: number;
  readonly name: string;
}

export async function addType({ admin }: BotServer, fields: object = {}): Promise<TaskType> {
  const body = { name: `type_${++made}`, label: 'A type', sop: 'Do it.', ...fields };
  return expectData(await admin.http.post<Enveloped<TaskType>>(`${ADMIN}/task-types`, body), 201);
}
