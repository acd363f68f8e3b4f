import { ADMIN, peopled, WORKER } from '../../test/contracts/bot-cases.ts';
import type { JobBody } from '../../test/support/http.ts';
import type { TestServer } from '../../test/support/server.ts';
import { NUMBER } from './attack.ts';

/** The principals that attack. Each is somebody else than those who work: head and the left claw. */
export interface Attackers {
  readonly server: TestServer;
  /** A second head: nothing but fairness bounds what it sends. */
  readonly head: string;
  readonly worker: string;
  readonly viewer: string;
  readonly run: { readonly token: string; readonly id: string; readonly leaseToken: string };
}

/** Makes what a way needs, and answers the requests that are then sent without end. */
type Way = (attackers: Attackers) => Promise<string[]> | string[];

export const WAYS: Readonly<Record<string, Way>> = {
  messages: ({ server, head, run }) =>
    [head, run.token].map((token) =>
      post(server, token, '/messages', { kind: 'spawn', body: `no schedule at all ${NUMBER}` }),
    ),

  artifacts: ({ server, worker, run }) => [
    upload(server, run.token, `/jobs/${run.id}/blobs`),
    upload(server, worker, `/jobs/${run.id}/blobs`, run.leaseToken),
    upload(server, worker, '/blobs'),
  ],

  // Claimed for the shortest lease there is, the jobs come back again and again.
  'huge claims': async ({ server, worker }) => {
    await makeMany(server, 300, { target: 'right-claw', maxAttempts: 1_000, spec: 'x'.repeat(100_000) });
    return [post(server, worker, '/jobs/claim', { target: 'right-claw', max: 1_000, leaseMs: 100 })];
  },

  'huge lists': async ({ server, head, viewer, worker }) => {
    await makeMany(server, 1_000, { target: 'any', spec: 'x'.repeat(20_000) });
    return [head, viewer, worker].flatMap((token) => [
      get(server, token, '/jobs'),
      get(server, token, '/jobs?limit=1000&state=queued'),
    ]);
  },

  search: async ({ server, head, viewer }) => {
    await makeMany(server, 5_000, { target: 'any', title: 'the same common words in every title' });
    return [head, viewer].flatMap((token) => [
      get(server, token, '/jobs?q=common&limit=1000'),
      get(server, token, '/jobs?q=same%20common%20words%20every&limit=1000'),
      get(server, token, '/jobs?q=absent&limit=1000'),
    ]);
  },

  schemas: async ({ server, head }) => {
    const words = { type: 'string', pattern: '^(\\w+\\s?){1,500}$' };
    const list = { type: 'array', uniqueItems: true };
    const paramsSchema = { type: 'object', properties: { words, list } };
    await server.head.request('PUT', '/types/costly', { body: { paramsSchema } });
    const different = Array.from({ length: 5_000 }, (_, no) => ({ no, text: 'alike' }));
    return [
      post(server, head, '/jobs', { type: 'costly', params: { words: `${'word '.repeat(10_000)}!` } }),
      post(server, head, '/jobs', { type: 'costly', params: { list: different } }),
      request(server, head, 'PUT', '/types/costly', JSON.stringify({ paramsSchema })),
    ];
  },

  events: ({ server, head, viewer, worker }) =>
    [head, viewer, worker].map((token) => get(server, token, '/events?after=0')),

  'long polls': ({ server, worker }) => [
    post(server, worker, '/jobs/claim', { target: 'right-claw', types: ['none'], waitMs: 60_000 }),
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

  comments: ({ server, head, worker, run }) =>
    [head, worker, run.token].map((token) =>
      post(server, token, `/jobs/${run.id}/comment`, { text: `${NUMBER} ${'x'.repeat(5_000)}` }),
    ),

  spawn: ({ server, head, run }) => [
    ...[head, run.token].map((token) =>
      post(server, token, '/messages', {
        kind: 'spawn',
        body: { name: `child ${NUMBER}`, payload_message: 'work', session_target: 'queue' },
      }),
    ),
    post(server, run.token, '/jobs', { parentId: run.id, target: 'any' }),
  ],

  mcp: ({ server, head, worker, run }) => [
    ...[head, worker].flatMap((token) => [
      callTool(server, token, 'list_jobs', { limit: 1_000 }),
      callTool(server, token, 'comment_job', { id: run.id, text: 'x'.repeat(5_000) }),
    ]),
    callTool(server, worker, 'claim_jobs', { target: 'right-claw', types: ['none'], waitMs: 50_000 }),
    askMcp(server, worker, 'initialize', {
      protocolVersion: '2025-06-18',
      capabilities: {},
      clientInfo: { name: `flood ${NUMBER}`, version: '1' },
    }),
  ],

  bridge: ({ server, worker, run }) => [
    get(server, worker, '/api/tasks'),
    get(server, worker, '/api/sessions'),
    get(server, worker, '/api/live'),
    post(server, worker, '/api/heartbeats/start', { slot: `slot-${NUMBER}`, instance: NUMBER }),
    post(server, worker, '/api/tasks', { title: 'one more', note: 'x'.repeat(5_000) }),
    request(server, worker, 'PATCH', `/api/tasks/${run.id}`, JSON.stringify({ [`field${NUMBER}`]: 'x' })),
  ],

  bots: async ({ server }) => {
    const people = await peopled(server, 1);
    for (const { http } of [people.admin, people.user, ...people.bots]) http.close();
    const [admin, bot] = [people.admin.token, people.bots[0]?.token ?? ''];
    return [
      post(server, bot, `${WORKER}/tasks/claim`, {}),
      post(server, bot, `${WORKER}/heartbeat`, {}),
      get(server, bot, `${WORKER}/tasks`),
      get(server, admin, `${ADMIN}/tasks?limit=1000`),
      post(server, admin, `${ADMIN}/tasks`, { title: `task ${NUMBER}`, description: 'x'.repeat(5_000) }),
    ];
  },

  logins: ({ server }) => [
    post(server, '', '/api/v1/auth/login', { email: `nobody-${NUMBER}@example.org`, password: 'wrong' }),
  ],

  'idempotency keys': ({ server, head }) => [
    post(server, head, '/jobs', { target: 'any' }, `idempotency-key: key-${NUMBER}\r\n`),
    post(server, head, '/jobs', { target: 'any' }, 'idempotency-key: always-the-same\r\n'),
  ],
};

/** What all ways need: tokens, and a run of a schedule that the right claw holds. */
export async function prepare(server: TestServer): Promise<Attackers> {
  const tokenOf = async (name: string, role: string): Promise<string> =>
    (await server.head.post<{ token: string }>('/tokens', { name, role })).body.token;
  const body = { name: 'abuse', session_target: 'queue', type: 'abuse', schedule_kind: 'manual' };
  const { id } = (await server.head.post<{ id: string }>('/schedules', body)).body;
  await server.head.post(`/schedules/${id}/run`);
  const asked = { types: ['abuse'], waitMs: 10_000 };
  const [held] = (await server.right.post<{ jobs: JobBody[] }>('/jobs/claim', asked)).body.jobs;
  if (held?.leaseToken === undefined) throw new Error('there is no run to attack with');
  return {
    server,
    head: await tokenOf('flood', 'head'),
    viewer: await tokenOf('eyes', 'viewer'),
    worker: server.tokens.right,
    run: { token: `run.${held.id}.${held.leaseToken}`, id: held.id, leaseToken: held.leaseToken },
  };
}

const BATCH_BYTES = 500_000;

async function makeMany(server: TestServer, count: number, job: object): Promise<void> {
  const batch = Math.max(1, Math.min(1_000, Math.floor(BATCH_BYTES / JSON.stringify(job).length)));
  for (let left = count; left > 0; left -= batch) {
    const jobs = Array.from({ length: Math.min(left, batch) }, () => job);
    const answer = await server.head.post('/jobs/batch', { jobs });
    if (answer.status !== 201) throw new Error(`a batch was answered ${answer.text}`);
  }
}

function get(server: TestServer, token: string, path: string): string {
  return request(server, token, 'GET', path, null);
}

function post(server: TestServer, token: string, path: string, body: object, more = ''): string {
  return request(
    server,
    token,
    'POST',
    path,
    JSON.stringify(body),
    `content-type: application/json\r\n${more}`,
  );
}

function askMcp(server: TestServer, token: string, method: string, params: object): string {
  const accept = 'accept: application/json, text/event-stream\r\n';
  return post(server, token, '/mcp', { jsonrpc: '2.0', id: 1, method, params }, accept);
}

function callTool(server: TestServer, token: string, name: string, given: object): string {
  return askMcp(server, token, 'tools/call', { name, arguments: given });
}

function upload(server: TestServer, token: string, path: string, leaseToken?: string): string {
  const part = 'content-disposition: form-data; name="file"; filename="x"\r\n\r\nx';
  const lease = leaseToken === undefined ? '' : `x-lease-token: ${leaseToken}\r\n`;
  const type = `content-type: multipart/form-data; boundary=BOUND\r\n${lease}`;
  return request(server, token, 'POST', path, `--BOUND\r\n${part}\r\n--BOUND--\r\n`, type);
}

/** Texts are plain ASCII, so that characters are bytes. */
function request(
  { port }: TestServer,
  token: string,
  method: string,
  path: string,
  body: string | null,
  headers = 'content-type: application/json\r\n',
): string {
  const head = `${method} ${path} HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\nauthorization: Bearer ${token}\r\n`;
  return body === null ? `${head}\r\n` : `${head}${headers}content-length: ${body.length}\r\n\r\n${body}`;
}
