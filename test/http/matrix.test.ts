import { deepStrictEqual, ok } from 'node:assert';
import { suite, test, type TestContext } from 'node:test';
import { type HttpClient, httpClient, type RequestOptions } from '../support/http.ts';
import { checked, type DescribedOperation, operations as described } from './description.ts';
import { openServer } from './server.ts';

/** Whoever logs in has rights of another kind: test/contracts/bots-queue.ts holds them. */
const operations = described.filter(({ path }) => !path.startsWith('/api/v1/'));

const ROLES = ['head', 'worker', 'viewer', 'run', 'nobody'] as const;
type Role = (typeof ROLES)[number];
/** Of the worker: it holds the first, may not see the second, and the third does not exist. */
const WHOSE = ['own', 'other', 'none'] as const;
type Whose = (typeof WHOSE)[number];

interface Things {
  readonly job: string;
  readonly blob: string;
}
interface World {
  readonly clients: Readonly<Record<Role, HttpClient>>;
  readonly things: Readonly<Record<Whose, Things>>;
}

/** Written by hand: what the description says is what is to be tested. */
const ALLOWED: Readonly<Record<string, readonly string[]>> = {
  anyone: ['getDescription', 'getDocs', 'getHome', 'getHealth', 'getHealthz', 'getReady', 'getSkill'],
  head: [
    'addSubscription',
    'addToken',
    'addUser',
    'applySchedules',
    'approve',
    'approveSchedule',
    'cancelBulk',
    'cancelJob',
    'cancelRun',
    'cancelSchedule',
    'changeJob',
    'changeSchedule',
    'changeUser',
    'createSchedule',
    'createTask',
    'deleteSchedule',
    'disableSchedule',
    'drainWorker',
    'enableSchedule',
    'getConfig',
    'getPromptOfRun',
    'listAudit',
    'listTokens',
    'listUsers',
    'pauseDoor',
    'pauseProvider',
    'pauseTarget',
    'pauseType',
    'putSchedule',
    'raiseBudget',
    'redriveJob',
    'reject',
    'rejectSchedule',
    'removeAgent',
    'removeAlias',
    'removeJob',
    'removePool',
    'removeSubscription',
    'removeUser',
    'removeWorker',
    'resumeDoor',
    'resumeProvider',
    'resumeTarget',
    'resumeType',
    'resumeWorker',
    'retryDelivery',
    'retryJob',
    'revokeToken',
    'runSchedule',
    'saveAlias',
    'savePool',
    'saveType',
    'setBudget',
    'spawnSession',
    'startBulk',
  ],
  'head viewer': [
    'getApproval',
    'getBulk',
    'listBulks',
    'getMetrics',
    'getSchedule',
    'getScheduleTree',
    'getUsage',
    'listAliases',
    'listApprovals',
    'listBudgets',
    'listDeliveries',
    'listMissed',
    'listRunsOfSchedule',
    'listSchedules',
    'listSubscriptions',
    'previewNewSchedule',
    'previewSchedule',
  ],
  'head worker': [
    'beatWorker',
    'completeJobs',
    'createJobs',
    'endSession',
    'readAllMessages',
    'readMessage',
    'registerAgent',
    'startWorker',
    'uploadBlob',
  ],
  'head worker run': [
    'answerQuestion',
    'askAndWait',
    'attachBlob',
    'changeTask',
    'commentJob',
    'completeJob',
    'createJob',
    'failJob',
    'heartbeat',
    'putTask',
    'releaseJob',
    'sendMessage',
    'snoozeJob',
    'writeCheckpoint',
    'writeLogs',
  ],
  'head worker viewer': [
    'countUnread',
    'followEvents',
    'getAgent',
    'getHealthDetails',
    'getLive',
    'getStats',
    'getThread',
    'getType',
    'listAgents',
    'listHeartbeats',
    'listJobs',
    'listMessages',
    'listPauses',
    'listPools',
    'listQuestions',
    'listRuns',
    'listSessions',
    'listStaleRuns',
    'listTasks',
    'listTypes',
  ],
  'head worker viewer run': [
    'downloadBlob',
    'endMcpSession',
    'exchangeMessages',
    'getMe',
    'getJob',
    'getJobComments',
    'getAttempts',
    'getJobEvents',
    'getJobUsage',
    'getMessage',
    'getQuestion',
    'getRun',
    'getTask',
    'listBlobs',
    'readLogs',
  ],
  worker: ['claimJob', 'claimNext'],
};

/** The same for /api/v1. */
const LOGINS = [
  ['/api/v1/auth/', 'anyone'],
  ['/api/v1/admin/', 'head'],
  ['/api/v1/worker/', 'worker'],
] as const;

/** The least that a good call of each operation says. */
const BODIES: Readonly<Record<string, (things: Things) => object>> = {
  createJob: ({ job }) => ({ parentId: job }),
  createJobs: ({ job }) => ({ jobs: [{ parentId: job }] }),
  completeJobs: ({ job }) => ({ jobs: [{ id: job }] }),
  commentJob: () => ({ text: 'hello' }),
  startBulk: () => ({ action: 'delete', filter: { tag: 'nobody-has-this' }, dryRun: true }),
  snoozeJob: () => ({ untilAt: 1 }),
  askAndWait: () => ({ question: 'Which?', to: 'head', timeoutMs: 1_000 }),
  writeCheckpoint: () => ({ text: 'halfway' }),
  answerQuestion: () => ({ answer: 'yes' }),
  writeLogs: () => ({ lines: [{ text: 'hello' }] }),
  savePool: () => ({ capacity: 1 }),
  saveAlias: () => ({ alias: 'ops', channel: 'telegram', target: '1' }),
  addSubscription: () => ({ alias: 'ops', events: ['failed'] }),
  createSchedule: () => ({ name: 'nightly', schedule: '0 2 * * *', payload_message: 'Sleep well' }),
  sendMessage: () => ({ to_agent: 'ops', body: 'hello' }),
  registerAgent: () => ({ id: 'left-claw' }),
  readAllMessages: () => ({ agent: 'left-claw' }),
  addToken: () => ({ name: 'another', role: 'viewer' }),
  createTask: () => ({ title: 'A task' }),
  exchangeMessages: () => ({ jsonrpc: '2.0', id: 1, method: 'ping' }),
  spawnSession: () => ({ sessionLabel: 'a session', prompt: 'Hello' }),
  startWorker: () => ({ slot: 'left-claw', instance: 'a' }),
  beatWorker: () => ({ slot: 'left-claw', instance: 'a', status: 'idle' }),
};
const FORM = '--x\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\nhi\r\n--x--\r\n';

/** Operations that end what the others need come last, each on a world of its own. */
const ABOUT_JOBS = operations.filter(({ path }) => path.startsWith('/jobs/{id}') || path === '/blobs/{id}');

suite('who may do what', () => {
  test('every route names exactly those roles that may call it', () => {
    const stated = operations.map(({ operationId, 'x-roles': roles = ['anyone'] }) => [
      operationId,
      roles.toSorted().join(' '),
    ]);
    const written = Object.entries(ALLOWED).flatMap(([roles, names]) =>
      names.map((name) => [name, roles.split(' ').toSorted().join(' ')]),
    );
    deepStrictEqual(Object.fromEntries(stated), Object.fromEntries(written));
  });

  test('whoever logs in is an admin or a bot, and neither may do what is the other’s', () => {
    const logins = described.filter(({ path }) => path.startsWith('/api/v1/'));
    const written = logins.map(({ path }) => LOGINS.find(([start]) => path.startsWith(start))?.[1]);
    ok(logins.length >= 36);
    deepStrictEqual(
      logins.map(({ operationId, 'x-roles': roles = ['anyone'] }) => [operationId, roles.join(' ')]),
      logins.map(({ operationId }, i) => [operationId, written[i]]),
    );
  });

  for (const role of ROLES) {
    test(`${role}: every route, on own jobs, on those of others and on none`, async (t) => {
      const world = await openWorld(t);
      ok(operations.length > 45);
      for (const operation of operations) {
        for (const whose of WHOSE) {
          if (whose === 'own' && endsTheJob(operation)) continue;
          const answer = await call(world, operation, role, whose);
          const expected = refusalFor(operation, role, whose);
          const seen =
            answer.status === 401 || answer.status === 403 || answer.status === 404 ? answer.status : 0;
          const where = `${role} ${operation.method} ${operation.path} (${whose}): ${answer.text.slice(0, 200)}`;
          if (expected !== null) deepStrictEqual(seen, expected, where);
        }
      }
    });
  }

  test('a refused role changes nothing', async (t) => {
    const world = await openWorld(t);
    const before = await snapshot(world);
    for (const role of ['viewer', 'nobody'] as const) {
      for (const operation of operations.filter(({ method }) => method !== 'GET')) {
        for (const whose of WHOSE) {
          const { status } = await call(world, operation, role, whose);
          // A preview is sent like a schedule and makes none; a message asks, and a session is nothing that is kept.
          const isReading = role === 'viewer' && READING.includes(operation.operationId);
          if (!isReading)
            deepStrictEqual(status, wrongRole(operation, role), `${role} ${operation.operationId}`);
        }
      }
    }
    deepStrictEqual(await snapshot(world), before);
  });

  test('who ends a job that is not his is refused, and it goes on', async (t) => {
    const world = await openWorld(t);
    for (const operation of ABOUT_JOBS.filter(endsTheJob)) {
      for (const role of ['worker', 'run'] as const)
        deepStrictEqual(
          (await call(world, operation, role, 'other')).status,
          operation['x-roles']?.includes(role) ? 403 : wrongRole(operation, role),
        );
    }
    const { body } = await world.clients.head.get(`/jobs/${world.things.other.job}`);
    deepStrictEqual(body['status'], 'running');
  });
});

const READING = ['previewNewSchedule', 'exchangeMessages', 'endMcpSession'];

/** What v0 had. These say 401 to a wrong role, as v0 did. */
const V0 = [
  'createJob',
  'listJobs',
  'getJob',
  'claimJob',
  'heartbeat',
  'completeJob',
  'failJob',
  'releaseJob',
  'commentJob',
  'uploadBlob',
];

function wrongRole({ operationId }: DescribedOperation, role: Role): 401 | 403 {
  return role === 'nobody' || V0.includes(operationId) ? 401 : 403;
}

function endsTheJob({ operationId }: DescribedOperation): boolean {
  return [
    'completeJob',
    'completeJobs',
    'failJob',
    'releaseJob',
    'snoozeJob',
    'askAndWait',
    'cancelJob',
  ].includes(operationId);
}

/** What the description promises: 403 to whom it does not name, 401 to nobody and at v0's own routes, 403 for what is another's, 404 for what is not. */
function refusalFor(operation: DescribedOperation, role: Role, whose: Whose): 0 | 401 | 403 | 404 | null {
  const roles = operation['x-roles'];
  if (roles === undefined) return 0;
  if (!roles.includes(role)) return wrongRole(operation, role);
  if (operation.operationId === 'createJob' || operation.operationId === 'createJobs')
    return parentRefusal(operation, role, whose);
  // The slot and the sessions that these are about are not this world's own.
  if (operation.operationId === 'beatWorker') return null;
  if (!ABOUT_JOBS.includes(operation)) return operation.path.includes('{') ? null : 0;
  if (whose === 'none') return 404;
  // Head and a viewer of all targets see every job.
  return whose === 'other' && (role === 'worker' || role === 'run') ? 403 : 0;
}

/** A run's parent is its own job or nothing; others are told what is wrong with the parent they named. */
function parentRefusal(operation: DescribedOperation, role: Role, whose: Whose): 0 | 401 | 403 | null {
  if (role === 'run') return whose === 'own' ? 0 : wrongRole(operation, role);
  // A parent that a worker may not see is answered like one that does not exist: 400.
  return whose === 'own' || role === 'worker' ? 0 : null;
}

function call({ clients, things }: World, operation: DescribedOperation, role: Role, whose: Whose) {
  const { method, operationId, requestBody } = operation;
  const { job, blob } = things[whose];
  const path = operation.path
    .replace('/blobs/{id}', `/blobs/${blob}`)
    .replace('{id}', job)
    .replace(/\{\w+\}/g, 'something');
  const isForm = requestBody?.content['multipart/form-data'] !== undefined;
  const options: RequestOptions = isForm
    ? { raw: FORM, headers: { 'content-type': 'multipart/form-data; boundary=x' } }
    : method !== 'GET' && method !== 'DELETE'
      ? { body: BODIES[operationId]?.(things[whose]) ?? {} }
      : {};
  return clients[role].request(method, path, options);
}

async function openWorld(t: TestContext): Promise<World> {
  const spine = await openServer(t);
  const client = (token?: string): HttpClient => {
    const made = checked(httpClient(spine.url, token === undefined ? {} : { token }));
    t.after(() => made.close());
    return made;
  };
  const thing = async (worker: HttpClient, target: string): Promise<Things & { leaseToken: string }> => {
    const { body: job } = await spine.head.post<{ id: string }>('/jobs', { target });
    const { body: claimed } = await worker.post<{ leaseToken: string }>(`/jobs/${job.id}/claim`);
    const { body: blob } = await worker.request<{ id: string }>('POST', `/jobs/${job.id}/blobs`, {
      raw: FORM,
      headers: { 'content-type': 'multipart/form-data; boundary=x' },
    });
    return { job: job.id, blob: blob.id, leaseToken: claimed.leaseToken };
  };
  const { body: viewer } = await spine.head.post<{ token: string }>('/tokens', { name: 'v', role: 'viewer' });
  const own = await thing(spine.left, 'left-claw');
  return {
    clients: {
      head: spine.head,
      worker: spine.left,
      viewer: client(viewer.token),
      run: client(`run.${own.job}.${own.leaseToken}`),
      nobody: client(),
    },
    things: { own, other: await thing(spine.right, 'right-claw'), none: { job: 'nothing', blob: 'nothing' } },
  };
}

async function snapshot({ clients: { head } }: World): Promise<unknown> {
  const paths = [
    '/jobs',
    '/tokens',
    '/types',
    '/pools',
    '/pauses',
    '/audit',
    '/schedules',
    '/runs',
    '/approvals',
    '/messages',
    '/agents',
    '/aliases',
    '/subscriptions',
    '/deliveries',
    '/questions',
  ];
  return Promise.all(paths.map(async (path) => (await head.get(path)).body));
}
