import { ADMIN, peopled, WORKER } from '../../test/contracts/bot-cases.ts';
import type { Answer, JobBody } from '../../test/support/http.ts';
import type { TestServer } from '../../test/support/server.ts';
import { type AttackRequest, NUMBER } from './attack.ts';
import { askMcp, callTool, get, post, request, upload } from './requests.ts';

/** The principals that attack. Each is somebody else than those who work: head and the left claw. */
export interface Attackers {
  readonly server: TestServer;
  /** A second head: nothing but fairness bounds what it sends. */
  readonly head: string;
  readonly worker: string;
  readonly viewer: string;
  readonly run: Run;
  /** Of what is made for a way: as much for every connection, however many attack. */
  readonly sized: (full: number) => number;
}

interface Run {
  readonly token: string;
  readonly id: string;
  readonly leaseToken: string;
}

const FULL_CONNECTIONS = 200;
/** For what may stay open for longer than the attack lasts. */
const OPEN = { status: null };
const MADE = { status: '201' };
const REFUSED = { status: '400' };

/** Makes what a way needs, and answers the requests that are then sent without end. */
type Way = (attackers: Attackers) => Promise<AttackRequest[]> | AttackRequest[];

export const WAYS: Readonly<Record<string, Way>> = {
  messages: ({ server, head, run }) =>
    [head, run.token].map((token) =>
      post(server, token, '/messages', { kind: 'spawn', body: `no schedule at all ${NUMBER}` }, MADE),
    ),

  artifacts: ({ server, worker, run }) => [
    upload(server, run.token, `/jobs/${run.id}/blobs`),
    upload(server, worker, `/jobs/${run.id}/blobs`, run.leaseToken),
    upload(server, worker, '/blobs'),
  ],

  // Claimed for the shortest lease there is, the jobs come back again and again.
  'huge claims': async ({ server, worker, sized }) => {
    await makeMany(server, sized(300), {
      target: 'right-claw',
      maxAttempts: 1_000,
      spec: 'x'.repeat(100_000),
    });
    return [post(server, worker, '/jobs/claim', { target: 'right-claw', max: 1_000, leaseMs: 100 })];
  },

  'huge lists': async ({ server, head, viewer, worker, sized }) => {
    await makeMany(server, sized(1_000), { target: 'any', spec: 'x'.repeat(20_000) });
    return [head, viewer, worker].flatMap((token) => [
      get(server, token, '/jobs'),
      get(server, token, '/jobs?limit=1000&state=queued'),
    ]);
  },

  search: async ({ server, head, viewer, sized }) => {
    await makeMany(server, sized(5_000), { target: 'any', title: 'the same common words in every title' });
    return [head, viewer].flatMap((token) => [
      get(server, token, '/jobs?q=common&limit=1000'),
      get(server, token, '/jobs?q=same%20common%20words%20every&limit=1000'),
      get(server, token, '/jobs?q=absent&limit=1000'),
    ]);
  },

  schemas: async ({ server, head }) => {
    const words = { type: 'string', pattern: '^(\\w+\\s?){1,140}$' };
    const list = { type: 'array', uniqueItems: true };
    const paramsSchema = { type: 'object', properties: { words, list } };
    done(await server.head.request('PUT', '/types/costly', { body: { paramsSchema } }));
    const different = Array.from({ length: 5_000 }, (_, no) => ({ no, text: 'alike' }));
    return [
      post(
        server,
        head,
        '/jobs',
        { type: 'costly', params: { words: `${'word '.repeat(10_000)}!` } },
        REFUSED,
      ),
      post(server, head, '/jobs', { type: 'costly', params: { list: different } }, MADE),
      request(server, head, 'PUT', '/types/costly', { body: JSON.stringify({ paramsSchema }) }),
    ];
  },

  events: ({ server, head, viewer, worker }) =>
    [head, viewer, worker].map((token) => get(server, token, '/events?after=0')),

  'long polls': ({ server, worker }) => [
    post(server, worker, '/jobs/claim', { target: 'right-claw', types: ['none'], waitMs: 60_000 }, OPEN),
    post(server, worker, '/jobs/claim', { target: 'right-claw', types: ['none'], waitMs: 1 }),
  ],

  logs: ({ server, worker, run }) => {
    const lines = Array.from({ length: 100 }, (_, i) => ({
      level: 'info',
      text: `line ${i} ${'x'.repeat(500)}`,
    }));
    const path = `/jobs/${run.id}/logs`;
    return [
      post(server, run.token, path, { lines }),
      post(server, worker, path, { leaseToken: run.leaseToken, lines }),
      get(server, worker, `${path}?limit=1000`),
    ];
  },

  // Each job takes a thousand.
  comments: async ({ server, head, worker, run }) => {
    const jobs = await makeMany(server, 15, { target: 'right-claw' });
    const comment = (token: string, id: string): AttackRequest =>
      post(server, token, `/jobs/${id}/comment`, { text: `${NUMBER} ${'x'.repeat(5_000)}` });
    return [comment(run.token, run.id), ...jobs.flatMap((id) => [comment(head, id), comment(worker, id)])];
  },

  'own heartbeats': async ({ server, worker }) => {
    const held = await Promise.all([1, 2, 3].map(() => hold(server)));
    const lines = [{ level: 'info', text: 'x'.repeat(5_000) }];
    const child = { target: 'any', spec: 'x'.repeat(300_000) };
    return held.flatMap(({ id, leaseToken }) => [
      post(server, worker, `/jobs/${id}/heartbeat`, { leaseToken }),
      post(server, worker, `/jobs/${id}/logs`, { leaseToken, lines }),
      post(server, worker, '/jobs', { ...child, parentId: id }, MADE),
    ]);
  },

  // Bodies that are too small to be counted, of a call that no limit refuses. No job has such a number.
  'ends of short numbers': ({ server, worker }) =>
    [() => 999_999, (i: number) => 100_000 + i].map((numberOf) => {
      const jobs = Array.from({ length: 1_000 }, (_, i) => ({ id: String(numberOf(i)) }));
      return post(server, worker, '/jobs/complete-batch', { jobs });
    }),

  // Calls about one task that answer much, one of them a call that no limit refuses.
  'one large task': async ({ server, sized }) => {
    const { admin, user, bots } = await peopled(server, 1);
    const task = { title: 'large', assigned_to: bots[0]?.id, params: { text: 'x'.repeat(sized(800_000)) } };
    const { id } = done(await admin.http.post<{ data: { id: string } }>(`${ADMIN}/tasks`, task)).data;
    for (const { http } of [admin, user, ...bots]) http.close();
    const bot = bots[0]?.token ?? '';
    const move = { body: JSON.stringify({ status: 'in_progress' }) };
    return [
      get(server, admin.token, `${ADMIN}/tasks/${id}`),
      get(server, bot, `${WORKER}/tasks/${id}`),
      request(server, bot, 'PUT', `${WORKER}/tasks/${id}/status`, move),
    ];
  },

  'invented tokens': ({ server }) => {
    const token = `run.nobody.invented-${NUMBER}`;
    return [get(server, token, '/jobs', '401'), post(server, token, '/jobs/claim', {}, { status: '401' })];
  },

  spawn: async ({ server, head }) => {
    const run = await startRun(server, 'spawning');
    const body = { name: `child ${NUMBER}`, payload_message: 'work', session_target: 'queue' };
    return [
      ...[head, run.token].map((token) => post(server, token, '/messages', { kind: 'spawn', body }, MADE)),
      post(server, run.token, '/jobs', { parentId: run.id, target: 'any' }, MADE),
    ];
  },

  mcp: async ({ server, head, worker }) => {
    const jobs = await makeMany(server, 5, { target: 'right-claw' });
    const client = { protocolVersion: '2025-06-18', capabilities: {} };
    return [
      ...[head, worker].flatMap((token) => [
        callTool(server, token, 'list_jobs', { limit: 1_000 }),
        ...jobs.map((id) => callTool(server, token, 'comment_job', { id, text: 'x'.repeat(5_000) })),
      ]),
      callTool(server, worker, 'claim_jobs', { target: 'right-claw', types: ['none'], waitMs: 50_000 }, null),
      askMcp(server, worker, 'initialize', {
        ...client,
        clientInfo: { name: `flood ${NUMBER}`, version: '1' },
      }),
    ];
  },

  bridge: async ({ server, head, worker, run }) => {
    const own = { slot: 'right-claw', instance: 'the-only-one' };
    done(await server.right.post('/api/heartbeats/start', own));
    return [
      get(server, worker, '/api/tasks'),
      get(server, worker, '/api/sessions'),
      get(server, worker, '/api/live'),
      post(server, head, '/api/heartbeats/start', { slot: `slot-${NUMBER}`, instance: NUMBER }),
      post(server, worker, '/api/heartbeats', { ...own, status: 'idle' }),
      post(server, head, '/api/tasks', { title: 'one more', description: 'x'.repeat(5_000) }),
      request(server, worker, 'PATCH', `/api/tasks/${run.id}`, { body: `{"field${NUMBER}":"x"}` }),
    ];
  },

  bots: async ({ server }) => {
    const people = await peopled(server, 1);
    for (const { http } of [people.admin, people.user, ...people.bots]) http.close();
    const [admin, bot] = [people.admin.token, people.bots[0]?.token ?? ''];
    return [
      post(server, bot, `${WORKER}/tasks/claim`, {}),
      post(server, bot, `${WORKER}/heartbeat`, {}),
      get(server, bot, `${WORKER}/tasks`),
      get(server, admin, `${ADMIN}/tasks?limit=1000`),
      post(
        server,
        admin,
        `${ADMIN}/tasks`,
        { title: `task ${NUMBER}`, description: 'x'.repeat(5_000) },
        MADE,
      ),
    ];
  },

  logins: ({ server }) => {
    const wrong = { email: `nobody-${NUMBER}@example.org`, password: 'wrong' };
    return [post(server, '', '/api/v1/auth/login', wrong, { status: '401' })];
  },

  'idempotency keys': ({ server, head }) =>
    [`key-${NUMBER}`, 'always-the-same'].map((key) => {
      const headers = `content-type: application/json\r\nidempotency-key: ${key}\r\n`;
      return post(server, head, '/jobs', { target: 'any' }, { status: '201', headers });
    }),
};

/** What all ways need: tokens, and a run of a schedule that the right claw holds. */
export async function prepare(server: TestServer, connections: number): Promise<Attackers> {
  const tokenOf = async (name: string, role: string): Promise<string> =>
    done(await server.head.post<{ token: string }>('/tokens', { name, role })).token;
  return {
    server,
    head: await tokenOf('flood', 'head'),
    viewer: await tokenOf('eyes', 'viewer'),
    worker: server.tokens.right,
    run: await startRun(server, 'abuse'),
    sized: (full) => Math.ceil((full * connections) / FULL_CONNECTIONS),
  };
}

/** A run of a schedule that the right claw holds. */
async function startRun(server: TestServer, type: string): Promise<Run> {
  done(await server.head.request('PUT', `/types/${type}`, { body: {} }));
  const body = { name: type, session_target: 'queue', type, schedule_kind: 'manual' };
  const { id } = done(await server.head.post<{ id: string }>('/schedules', body));
  done(await server.head.post(`/schedules/${id}/run`));
  const asked = { types: [type], waitMs: 10_000 };
  const [held] = done(await server.right.post<{ jobs: JobBody[] }>('/jobs/claim', asked)).jobs;
  return runOf(held);
}

/** A job that the right claw holds. */
async function hold(server: TestServer): Promise<Run> {
  const [id] = await makeMany(server, 1, { target: 'right-claw' });
  return runOf(done(await server.right.post<JobBody>(`/jobs/${id}/claim`)));
}

function runOf(held: JobBody | undefined): Run {
  if (held?.leaseToken === undefined) throw new Error('there is nothing to attack with');
  const { id, leaseToken } = held;
  return { token: `run.${id}.${leaseToken}`, id, leaseToken };
}

/** A way whose preparation was refused would attack nothing. */
function done<T>({ status, text, body }: Answer<T>): T {
  if (status >= 300) throw new Error(`a preparation was answered ${text}`);
  return body;
}

const BATCH_BYTES = 500_000;

/** Answers their ids. */
async function makeMany(server: TestServer, count: number, job: object): Promise<string[]> {
  const ids: string[] = [];
  const batch = Math.max(1, Math.min(1_000, Math.floor(BATCH_BYTES / JSON.stringify(job).length)));
  for (let left = count; left > 0; left -= batch) {
    const jobs = Array.from({ length: Math.min(left, batch) }, () => job);
    const made = done(await server.head.post<{ jobs: JobBody[] }>('/jobs/batch', { jobs }));
    ids.push(...made.jobs.map(({ id }) => id));
  }
  return ids;
}
