import { deepStrictEqual, ok, strictEqual } from 'node:assert';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { suite, test, type TestContext } from 'node:test';
import type { OpenEngine } from '../../src/engine/open-engine.ts';
import { until } from '../support/clock.ts';
import { loggedIn } from './bots.ts';
import { openServer } from './server.ts';

const HEAD = { name: 'head', role: 'head', targets: null } as const;

interface Shown {
  readonly messages?: readonly { readonly body: string; readonly from_agent: string }[];
}

/** How a door moves a task, as its holder, and shows it. */
interface Holder {
  readonly name: string;
  readonly move: (id: string, status: 'begun' | 'done') => Promise<Shown>;
  readonly read: (id: string) => Promise<Shown>;
  /** Takes whatever comes next, at the door that shows messages with it. */
  readonly claim: () => Promise<Shown | undefined>;
}

type Spine = Awaited<ReturnType<typeof openServer>>;

async function workerOfTheBridge(_: TestContext, { left }: Spine): Promise<Holder> {
  const words = { begun: 'in-progress', done: 'done' } as const;
  return {
    name: 'left-claw',
    move: async (id, status) =>
      well(await left.request<Shown>('PATCH', `/api/tasks/${id}`, { body: { status: words[status] } })),
    read: async (id) => well(await left.get<Shown>(`/api/tasks/${id}`)),
    claim: async () => well(await left.post<{ jobs: Shown[] }>('/jobs/claim', {})).jobs[0],
  };
}

const WORKER = '/api/v1/worker/tasks';
const words = { begun: 'in_progress', done: 'completed' } as const;

async function bot(t: TestContext, spine: Spine): Promise<Holder> {
  const http = await loggedIn(t, spine, 'rosa', { worker: true });
  return {
    name: 'rosa',
    move: async (id, status) => {
      const body = { status: words[status] };
      return well(await http.request<{ data: Shown }>('PUT', `${WORKER}/${id}/status`, { body })).data;
    },
    read: async (id) => well(await http.get<{ data: Shown }>(`${WORKER}/${id}`)).data,
    claim: async () => well(await http.post<{ data: Shown }>(`${WORKER}/claim`)).data,
  };
}

function well<T>({ status, body }: { readonly status: number; readonly body: T }): T {
  ok(status < 300, JSON.stringify(body));
  return body;
}

const DOORS = { 'a worker at the bridge': workerOfTheBridge, 'a bot': bot };

for (const [who, open] of Object.entries(DOORS))
  suite(`mail of ${who}`, () => {
    test('comes with the task that it takes by its status, and has arrived at the end [SC-11 SC-68]', async (t) => {
      const spine = await openServer(t);
      const holder = await open(t, spine);
      const { id } = await send(spine, holder);
      const task = await make(spine, holder.name);
      const [message] = (await holder.move(task, 'begun')).messages ?? [];
      deepStrictEqual([message?.body, message?.from_agent], ['hello', 'head']);
      deepStrictEqual(texts(await holder.read(task)), ['hello']);
      strictEqual(await arrived(spine, id), false);
      deepStrictEqual(texts(await holder.move(task, 'done')), []);
      strictEqual(await arrived(spine, id), true);
      deepStrictEqual(texts(await holder.read(task)), []);
    });

    test('waits when a task is taken and ended in one call', async (t) => {
      const spine = await openServer(t);
      const holder = await open(t, spine);
      const { id } = await send(spine, holder);
      deepStrictEqual(texts(await holder.move(await make(spine, holder.name), 'done')), []);
      strictEqual(await arrived(spine, id), false);
      await make(spine, 'any');
      deepStrictEqual(texts(await holder.claim()), ['hello']);
    });

    test('waits when somebody else sets the task, who is shown nothing of it', async (t) => {
      const spine = await openServer(t);
      const holder = await open(t, spine);
      const { id } = await send(spine, holder);
      const task = await make(spine, holder.name);
      const answers =
        who === 'a bot'
          ? await byAdmin(t, spine, task)
          : [
              await spine.head.request<Shown>('PATCH', `/api/tasks/${task}`, {
                body: { status: 'in-progress' },
              }),
            ];
      for (const { status, body } of answers) deepStrictEqual([status, 'messages' in body], [200, false]);
      if (who === 'a bot') await holder.move(task, 'done');
      strictEqual(await arrived(spine, id), false);
      await make(spine, 'any');
      deepStrictEqual(texts(await holder.claim()), ['hello']);
    });
  });

test('mail that went with an answer that could not be sent is on its way no more', async (t) => {
  let goAway: (() => Promise<unknown>) | null = null;
  const leaving = (engine: OpenEngine): OpenEngine => ({
    ...engine,
    tasks: {
      ...engine.tasks,
      change: async (...args) => {
        const moved = await engine.tasks.change(...args);
        await goAway?.();
        return moved;
      },
    },
  });
  const spine = await openServer(t, ({ engine }) => ({ engine: leaving(engine as OpenEngine) }));
  const holder = await workerOfTheBridge(t, spine);
  const { id } = await send(spine, holder);
  const task = await make(spine, holder.name);
  const arrives = once(spine.server, 'connection');
  const socket = connect(spine.port, '127.0.0.1');
  const [serverSide] = (await arrives) as [Socket];
  const left = once(serverSide, 'close');
  goAway = async () => {
    goAway = null;
    socket.destroy();
    await left;
  };
  const body = JSON.stringify({ status: 'in-progress' });
  socket.write(
    `PATCH /api/tasks/${task} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${spine.tokens.left}\r\n` +
      `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  );
  await left;
  const job = () => spine.engine.jobs.get(HEAD, task);
  // The end of the job is committed after whatever the server does about the lost answer.
  await until('it is given back', async () => (await job()).state !== 'running');
  const { state, attempts } = await job();
  deepStrictEqual([state, attempts], ['queued', 0], 'a task that nobody knows to be his is given back');
  await holder.move(task, 'done');
  strictEqual(await arrived(spine, id), false);
});

async function byAdmin(t: TestContext, spine: Spine, task: string) {
  const admin = await loggedIn(t, spine, 'ada', { admin: true });
  const path = `/api/v1/admin/workers/tasks/${task}`;
  const answer = await admin.request<{ data: Shown }>('PUT', path, { body: { status: 'in_progress' } });
  return [{ status: answer.status, body: answer.body.data }];
}

function send({ engine }: Spine, { name: to }: Holder) {
  return engine.messages.send(HEAD, { kind: 'text', to, body: 'hello' });
}

async function make({ engine }: Spine, target: string): Promise<string> {
  const { jobs } = await engine.jobs.create(HEAD, [{ target }]);
  return jobs[0]?.id ?? '';
}

function texts(shown: Shown | undefined): string[] {
  return (shown?.messages ?? []).map(({ body }) => body);
}

async function arrived({ engine }: Spine, id: string): Promise<boolean> {
  return (await engine.messages.get(HEAD, id)).receipts.every(({ deliveredAt }) => deliveredAt !== null);
}
