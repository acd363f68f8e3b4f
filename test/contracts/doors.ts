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
import { type McpClient, openClient } from '../mcp/support.ts';
import { queueSchedule, runNow, until } from './scheduler-cases.ts';

interface Doors {
  readonly spine: BotServer;
  readonly bot: Bot;
  /** A worker with a token. */
  readonly left: HttpClient;
  /** The same worker, and the operator, as agents come in. */
  readonly agent: McpClient;
  readonly chief: McpClient;
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
  mcp: async ({ chief }, title) => String((await chief.call('create_job', { target: 'any', title }))['id']),
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
  mcp: async ({ agent }, id) => {
    const { leaseToken } = await agent.call('claim_job', { id });
    const ended = await agent.call('complete_job', { id, leaseToken, result: 'well' });
    strictEqual(ended['status'], 'done', JSON.stringify(ended));
  },
};

/** Takes that very work there and fails at it. */
const FAILED: Readonly<Record<string, (at: Doors, id: string) => Promise<void>>> = {
  spine: async ({ left }, id) => {
    const { leaseToken } = (await left.post<{ leaseToken: string }>(`/jobs/${id}/claim`)).body;
    const failure = await left.post(`/jobs/${id}/fail`, { leaseToken, error: 'broken', requeue: true });
    strictEqual(failure.status, 200, failure.text);
  },
  bridge: async ({ left }, id) => {
    for (const status of ['in-progress', 'blocked']) {
      const answer = await left.request('PATCH', `/api/tasks/${id}`, { body: { status } });
      strictEqual(answer.status, 200, answer.text);
    }
  },
  bots: async ({ bot }, id) => {
    strictEqual((await claimed(bot)).id, id);
    expectData(await bot.http.post<Enveloped>(`${WORKER}/tasks/${id}/result`, { result: { error: id } }));
    expectData(await move(bot, id, 'failed'));
  },
  mcp: async ({ agent }, id) => {
    const { leaseToken } = await agent.call('claim_job', { id });
    const failure = await agent.call('fail_job', { id, leaseToken, error: 'broken', requeue: true });
    strictEqual(failure.refused, undefined);
  },
};

interface Shown {
  readonly id: string;
  readonly state: string;
  readonly retryOf?: string;
}

/** The same job again, or the one that follows it. At the bridge what is blocked stays so until somebody wants it done. */
async function retried({ spine: { server } }: Doors, id: string, failedAt: string): Promise<string> {
  if (failedAt === 'bridge')
    strictEqual(
      (await server.head.request('PATCH', `/api/tasks/${id}`, { body: { status: 'todo' } })).status,
      200,
    );
  return until(
    async () => {
      const { jobs } = (await server.head.get<{ jobs: Shown[] }>('/jobs?limit=20&order=newest')).body;
      return jobs.find((job) => (job.id === id || job.retryOf === id) && job.state === 'queued')?.id ?? '';
    },
    (found) => found !== '',
    'there is no retry',
  );
}

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
      const { url, tokens, left } = spine.server;
      const agent = await openClient('http', { url, token: tokens.left });
      const chief = await openClient('http', { url, token: tokens.head });
      at = { spine, bot: spine.bots[0] as Bot, left, agent, chief };
    });
    after(async () => {
      await Promise.all([at.agent.close(), at.chief.close()]);
      await at.spine.stop();
    });
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

    const workers = Object.entries(DONE);
    for (const [m, [maker, make]] of Object.entries(MADE)
      // What a schedule makes is tried again by the schedule's own rule.
      .filter(([name]) => name !== 'scheduler')
      .entries())
      for (const [f, [failer, fail]] of Object.entries(FAILED).entries()) {
        const [worker, work] = workers[(m + f) % workers.length] as (typeof workers)[number];
        test(`work of the door ${maker} that failed at the door ${failer} is done at the door ${worker} [TQ-23]`, async () => {
          const id = await make(at, `${maker}, ${failer}, ${worker}`);
          await fail(at, id);
          const retry = await retried(at, id, failer);
          if (retry !== id) {
            const { results: _, ...shown } = await shownEverywhere(at, id);
            deepStrictEqual(shown, { spine: 'failed', bridge: 'blocked', bots: 'failed' });
          }
          strictEqual((await shownEverywhere(at, retry)).bots, 'pending');
          await work(at, retry);
          const { results, ...shown } = await shownEverywhere(at, retry);
          deepStrictEqual(shown, { spine: 'done', bridge: 'done', bots: 'completed' });
          deepStrictEqual(results, ['well', 'well', 'well']);
        });
      }
  });
}
