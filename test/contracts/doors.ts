import { deepStrictEqual, ok, strictEqual } from 'node:assert';
import { after, before, suite, test } from 'node:test';
import type { HttpClient } from '../support/http.ts';
import {
  ADMIN,
  type Bot,
  type BotServer,
  claimed,
  type Enveloped,
  expectData,
  move,
  type StartBots,
  type Task,
  WORKER,
} from './bot-cases.ts';
import { queueSchedule, runNow, until } from './scheduler-cases.ts';

interface Doors {
  readonly spine: BotServer;
  readonly bot: Bot;
  /** A worker with a token. */
  readonly left: HttpClient;
}

/** Makes work there, and answers its id. */
const MADE: Readonly<Record<string, (at: Doors, title: string) => Promise<string>>> = {
  spine: async ({ spine: { server } }, title) => {
    const { status, body } = await server.head.post<{ id: string }>('/jobs', { target: 'any', title });
    strictEqual(status, 201);
    return body.id;
  },
  bridge: async ({ spine: { server } }, title) => {
    const { status, body } = await server.head.post<{ id: string }>('/api/tasks', { title });
    strictEqual(status, 200);
    return body.id;
  },
  bots: async ({ spine: { admin } }, title) =>
    expectData(await admin.http.post<Enveloped<Task>>(`${ADMIN}/tasks`, { title }), 201).id,
  scheduler: async ({ spine: { server } }) => {
    const { id } = await queueSchedule(server);
    return runNow(server, id);
  },
};

/** Takes that very work there and does it. */
const DONE: Readonly<Record<string, (at: Doors, id: string) => Promise<void>>> = {
  spine: async ({ left }, id) => {
    const claim = await left.post<{ leaseToken: string }>(`/jobs/${id}/claim`);
    strictEqual(claim.status, 200, claim.text);
    const { leaseToken } = claim.body;
    strictEqual((await left.post(`/jobs/${id}/complete`, { leaseToken, result: 'well' })).status, 200);
  },
  bridge: async ({ left }, id) => {
    for (const body of [{ status: 'in-progress' }, { status: 'done', note: 'well' }]) {
      const answer = await left.request('PATCH', `/api/tasks/${id}`, { body });
      strictEqual(answer.status, 200, answer.text);
    }
  },
  bots: async ({ bot }, id) => {
    strictEqual((await claimed(bot)).id, id);
    expectData(await bot.http.post<Enveloped>(`${WORKER}/tasks/${id}/result`, { result: 'well' }));
    expectData(await move(bot, id, 'completed'));
  },
};

async function shownEverywhere({ spine: { server, admin } }: Doors, id: string) {
  const native = await server.head.get<{ status: string; result: unknown }>(`/jobs/${id}`);
  const card = await server.head.get<{ status: string; result?: unknown }>(`/api/tasks/${id}`);
  const task = expectData(await admin.http.get<Enveloped<Task>>(`${ADMIN}/tasks/${id}`));
  return {
    spine: native.body.status,
    bridge: card.body.status,
    bots: task.status,
    results: [native.body.result, card.body.result ?? null, task.result],
  };
}

/** What is made at one door is done at another, and shown right at all of them. */
export function doorCases(start: StartBots): void {
  suite('all pairs of doors', () => {
    let at: Doors;
    before(async () => {
      const spine = await start();
      at = { spine, bot: spine.bots[0] as Bot, left: spine.server.left };
    });
    after(() => at.spine.stop());
    for (const [maker, make] of Object.entries(MADE))
      for (const [worker, work] of Object.entries(DONE))
        test(`work of the door ${maker} is done at the door ${worker}, and shown at every door [TQ-10 TQ-40]`, async () => {
          const id = await make(at, `${maker} to ${worker}`);
          deepStrictEqual(await shownEverywhere(at, id), {
            spine: 'queued',
            bridge: 'todo',
            bots: 'pending',
            results: [null, null, null],
          });
          await work(at, id);
          deepStrictEqual(await shownEverywhere(at, id), {
            spine: 'done',
            bridge: 'done',
            bots: 'completed',
            results: ['well', 'well', 'well'],
          });
          if (maker !== 'scheduler') return;
          const run = await until(
            async () => (await at.spine.server.head.get<{ status: string }>(`/runs/${id}`)).body.status,
            (status) => status === 'ok',
            'the run did not end',
          );
          ok(run);
        });

    test('a failure is a failure at every door, and its retry is there, too', async () => {
      const id = await MADE['spine']?.(at, 'fails');
      ok(id !== undefined);
      strictEqual((await claimed(at.bot)).id, id);
      expectData(await move(at.bot, id, 'failed'));
      const { results: _, ...shown } = await shownEverywhere(at, id);
      deepStrictEqual(shown, { spine: 'failed', bridge: 'blocked', bots: 'failed' });
    });
  });
}
