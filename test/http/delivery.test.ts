import { deepStrictEqual, ok, strictEqual } from 'node:assert';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { suite, test, type TestContext } from 'node:test';
import type { Engine, Leases } from '../../src/engine/engine.ts';
import { SpineError } from '../../src/domain/error.ts';
import { unknownClaimKeeper } from '../../src/loops/keepers.ts';
import { until } from '../support/clock.ts';
import type { JobBody } from '../support/http.ts';
import { openServer } from './server.ts';

type Spine = Awaited<ReturnType<typeof openServer>>;

/** The ways to get jobs; each is sent as a worker of the target "any". */
const CLAIMS = {
  'a claim': (job, claimId) => ['/jobs/claim', { target: 'any', ...named(claimId) }, job],
  'a claim that waits': (job, claimId) => [
    '/jobs/claim',
    { target: 'any', waitMs: 60_000, ...named(claimId) },
    job,
  ],
  'a claim by id': (job, claimId) => [`/jobs/${job}/claim`, named(claimId), job],
  'the next with an end': (job, claimId, held) => [
    `/jobs/${held.id}/complete`,
    { leaseToken: held.leaseToken, next: { targets: ['any'], ...named(claimId) } },
    job,
  ],
  'the next with a failure': (job, claimId, held) => [
    `/jobs/${held.id}/fail`,
    { leaseToken: held.leaseToken, next: { targets: ['any'], ...named(claimId) } },
    job,
  ],
  'the next with a batch of ends': (job, claimId, held) => [
    '/jobs/complete-batch',
    { jobs: [{ id: held.id, leaseToken: held.leaseToken }], next: { targets: ['any'], ...named(claimId) } },
    job,
  ],
} satisfies Record<string, (job: string, claimId: string | null, held: JobBody) => [string, object, string]>;

suite('a claim whose claimer has gone', () => {
  for (const [name, requestOf] of Object.entries(CLAIMS)) {
    test(`${name}: gives the job back at once, without using an attempt`, async (t) => {
      const { spine, leave } = await leavingCallers(t);
      const held = await heldJob(spine);
      const job = await createJob(spine, { maxAttempts: 1 });
      const [path, body] = requestOf(job.id, null, held);
      await leave(path, body);
      const next = await claimed(spine, { waitMs: 10_000 });
      deepStrictEqual(
        next.map(({ id, attempts }) => [id, attempts]),
        [[job.id, 1]],
      );
    });

    test(`${name}: keeps a named claim, which can be repeated`, async (t) => {
      const { spine, leave } = await leavingCallers(t);
      const held = await heldJob(spine);
      const job = await createJob(spine, { maxAttempts: 1 });
      const [path, body] = requestOf(job.id, 'once more', held);
      await leave(path, body);
      deepStrictEqual(await claimed(spine, {}), []);
      const again = await spine.left.post<{ jobs: JobBody[] }>('/jobs/claim', {
        target: 'any',
        claimId: 'once more',
      });
      deepStrictEqual(
        again.body.jobs.map(({ id, attempts }) => [id, attempts]),
        [[job.id, 1]],
      );
    });
  }

  test('gives the job back later when the database is away just then', async (t) => {
    const { spine, leave } = await leavingCallers(t);
    const { core } = spine.engine;
    const job = await createJob(spine, { maxAttempts: 1 });
    const submit = core.flusher.submitTogether.bind(core.flusher);
    let failed = 0;
    t.mock.method(core.flusher, 'submitTogether', ((commands) =>
      commands[0]?.kind === 'release' && failed++ === 0
        ? Promise.reject(new SpineError('store_unavailable'))
        : submit(commands)) as typeof submit);
    await leave('/jobs/claim', { target: 'any' });
    await until('it could not be given back', () => core.unknownClaims.size === 1);
    await unknownClaimKeeper(core).runOnce();
    const { state, attempts } = await spine.engine.jobs.get(RIGHT, job.id);
    deepStrictEqual([state, attempts, core.unknownClaims.size], ['queued', 0, 0]);
  });

  test('gives jobs back whose answer was sent in part only', async (t) => {
    const spine = await openServer(t);
    const spec = 'x'.repeat(1_000_000);
    for (let i = 0; i < 7; i++) await createJob(spine, { spec });
    const arrived = once(spine.server, 'connection');
    const socket = connect(spine.port, '127.0.0.1');
    // Once the answer begins to come, the claim is made; the rest of it is more than fits on the way.
    socket.write(requestText(spine, '/jobs/claim', { target: 'any', max: 100 }));
    await once(socket, 'readable');
    const [serverSide] = (await arrived) as [Socket];
    ok(serverSide.writableLength > 0, 'the answer is not sent yet');
    socket.destroy();
    const next = await claimed(spine, { waitMs: 10_000, max: 100 });
    deepStrictEqual(
      next.map(({ attempts }) => attempts),
      Array.from({ length: 7 }, () => 1),
    );
  });

  test('gives jobs back that cannot be printed, also those of a named claim', async (t) => {
    const broken = (engine: Engine): Engine => ({
      ...engine,
      jobs: { ...engine.jobs, details: () => Promise.reject(new RangeError('Invalid string length')) },
    });
    const spine = await openServer(t, ({ engine }) => ({ engine: broken(engine) }));
    // One that was held before is read again to be shown.
    await createJob(spine, { maxAttempts: 2 });
    const [first] = await spine.engine.leases.claimNext(RIGHT, { targets: ['any'], max: 1, waitMs: 0 });
    ok(first);
    await spine.engine.leases.release(RIGHT, first.job.id, first.job.leaseToken, null);
    for (let i = 0; i < 5; i++) {
      for (const claim of [{}, { claimId: `claim ${i}` }]) {
        const { status } = await spine.left.post('/jobs/claim', { target: 'any', ...claim });
        strictEqual(status, 500);
      }
      const { state, attempts } = await spine.engine.jobs.get(RIGHT, first.job.id);
      deepStrictEqual([state, attempts], ['queued', 1]);
    }
  });
});

test('a named claim that could be neither printed nor given back is its claimer’s when it asks again', async (t) => {
  let broken = true;
  const failing = (engine: Engine): Engine => ({
    ...engine,
    jobs: {
      ...engine.jobs,
      details: (...job) =>
        broken ? Promise.reject(new SpineError('store_unavailable')) : engine.jobs.details(...job),
    },
  });
  const spine = await openServer(t, ({ engine }) => ({ engine: failing(engine) }));
  const { core } = spine.engine;
  // One that was held before is read again to be shown.
  const { id } = await createJob(spine, { maxAttempts: 2 });
  await spine.engine.leases.claim(RIGHT, id, {});
  await spine.engine.leases.release(RIGHT, id, null, null);
  const submit = core.flusher.submitTogether.bind(core.flusher);
  t.mock.method(core.flusher, 'submitTogether', ((commands) =>
    broken && commands[0]?.kind === 'release'
      ? Promise.reject(new SpineError('store_unavailable'))
      : submit(commands)) as typeof submit);
  const claim = { target: 'any', claimId: 'once more' };
  strictEqual((await spine.left.post('/jobs/claim', claim)).status, 503);
  broken = false;
  const again = await spine.left.post<{ jobs: JobBody[] }>('/jobs/claim', claim);
  await unknownClaimKeeper(core).runOnce();
  const { state, leaseToken } = await spine.engine.jobs.get(RIGHT, id);
  deepStrictEqual([state, leaseToken], ['running', again.body.jobs[0]?.leaseToken]);
});

const RIGHT = { name: 'right-claw', role: 'worker', targets: null } as const;

function named(claimId: string | null): { claimId?: string } {
  return claimId === null ? {} : { claimId };
}

/** A server whose next caller goes away as soon as its claim is durable, before it is answered. */
async function leavingCallers(
  t: TestContext,
): Promise<{ spine: Spine; leave: (path: string, body: object) => Promise<void> }> {
  let goAway: (() => Promise<unknown>) | null = null;
  const after = async <T>(done: Promise<T>): Promise<T> => {
    const value = await done;
    await goAway?.();
    return value;
  };
  const leaving = (leases: Leases): Leases => ({
    ...leases,
    claim: (...args) => after(leases.claim(...args)),
    claimNext: (...args) => after(leases.claimNext(...args)),
    endThenClaim: (...args) => after(leases.endThenClaim(...args)),
    completeMany: (...args) => after(leases.completeMany(...args)),
  });
  const spine = await openServer(t, ({ engine }) => ({
    engine: { ...engine, leases: leaving(engine.leases) },
  }));
  const leave = async (path: string, body: object): Promise<void> => {
    const arrived = once(spine.server, 'connection');
    const socket = connect(spine.port, '127.0.0.1');
    const [serverSide] = (await arrived) as [Socket];
    const left = once(serverSide, 'close');
    goAway = async () => {
      goAway = null;
      socket.destroy();
      await left;
    };
    socket.write(requestText(spine, path, body));
    await left;
  };
  return { spine, leave };
}

function requestText({ tokens }: Spine, path: string, body: object): string {
  const text = JSON.stringify(body);
  return (
    `POST ${path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${tokens.left}\r\n` +
    `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`
  );
}

async function createJob(spine: Spine, draft: object): Promise<JobBody> {
  const { status, body } = await spine.head.post<JobBody>('/jobs', { target: 'any', ...draft });
  strictEqual(status, 201);
  return body;
}

async function heldJob(spine: Spine): Promise<JobBody> {
  const job = await createJob(spine, { target: 'left-claw', maxAttempts: 1 });
  return (await spine.left.post<JobBody>(`/jobs/${job.id}/claim`)).body;
}

async function claimed(spine: Spine, asked: object): Promise<JobBody[]> {
  return (await spine.right.post<{ jobs: JobBody[] }>('/jobs/claim', { target: 'any', ...asked })).body.jobs;
}
