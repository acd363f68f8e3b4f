/** Spine at the doors of bots and boards, as their clients speak: claim one, complete one. */

import { startServer, type TestServer } from '../test/support/server.ts';
import { type HttpCaller, httpCaller } from './http-caller.ts';
import type { Payload } from './measure.ts';
import type { Place, Queue } from './queue.ts';
import { type Callers, callersOf, SINGLES, states } from './spine-http.ts';

const PASSWORD = 'a password of some length';

type Worker = (callers: Callers, handle: (payload: Payload) => void) => Promise<boolean>;

interface Task {
  readonly id: string;
  readonly params: Payload;
}

/** A bot pulls a task and ends it by its status. */
export async function openSpineBots(place: Place): Promise<Queue> {
  const server = await startServer({ dataDir: place.folder });
  const bot = await loggedIn(server);
  return queueOf(server, async (_, handle) => {
    const { data } = await bot.post<{ data: Task | null }>('/api/v1/worker/tasks/claim', {});
    if (data === null) return false;
    handle(data.params);
    await bot.put(`/api/v1/worker/tasks/${data.id}/status`, { status: 'completed' });
    return true;
  });
}

/** A board's worker takes a task that it knows of by its status, and ends it likewise. */
export async function openSpineBridge(place: Place): Promise<Queue> {
  const server = await startServer({ dataDir: place.folder });
  const made: { readonly id: string; readonly params: Payload }[] = [];
  return queueOf(
    server,
    async ({ worker }, handle) => {
      const task = made.shift();
      if (task === undefined) return false;
      await worker.put(`/api/tasks/${task.id}`, { status: 'in-progress' });
      handle(task.params);
      await worker.put(`/api/tasks/${task.id}`, { status: 'done' });
      return true;
    },
    (ids, inputs) => made.push(...ids.map((id, i) => ({ id, params: inputs[i] as Payload }))),
  );
}

function queueOf(
  server: TestServer,
  one: Worker,
  onMade: (ids: readonly string[], inputs: readonly Payload[]) => void = () => undefined,
): Queue {
  const callers = callersOf(server, SINGLES.connections);
  const addMany = async (inputs: readonly Payload[]): Promise<void> => {
    const jobs = inputs.map((params) => ({ target: 'any', params, retry: { mode: 'lineage' } }));
    const answer = await callers.head.post<{ jobs: readonly { id: string }[] }>('/jobs/batch', { jobs });
    onMade(
      answer.jobs.map(({ id }) => id),
      inputs,
    );
  };
  const workOff = async (handle: (payload: Payload) => void): Promise<void> => {
    while (await one(callers, handle));
  };
  return {
    add: async (input) => addMany([input]).then(() => ''),
    addMany,
    work: async (handle) => {
      const drained = Promise.all(Array.from({ length: SINGLES.connections }, () => workOff(handle)));
      return { stop: async () => void (await drained) };
    },
    left: async () => {
      const { queued, running } = await states(callers);
      return queued + running;
    },
    finished: async () => (await states(callers)).done,
    close: () => server.kill(),
  };
}

async function loggedIn({ url, head, anyone }: TestServer): Promise<HttpCaller> {
  const email = 'bot@example.org';
  await head.post('/users', { email, password: PASSWORD, fullName: 'Bot', worker: true });
  const login = await anyone.post<{ access_token: string }>('/api/v1/auth/login', {
    email,
    password: PASSWORD,
  });
  return httpCaller(url, SINGLES.connections, login.body.access_token);
}
