import assert from 'node:assert/strict';
import { suite } from 'node:test';
import { embeddedClient } from '../../src/app/embedded-client.ts';
import { type Handler, JobFailure, PutOff, SpineApiError, Worker } from '../../src/client/index.ts';
import { LIMITS } from '../../src/domain/limits.ts';
import type { Actor } from '../../src/domain/command.ts';
import type { Job } from '../../src/domain/job.ts';
import { plan, runNow } from '../support/scheduling.ts';
import { create, DIALECTS, HEAD, onEvery, type Opened, read, runTimers, worker } from '../support/engines.ts';
import { rest, until } from '../support/clock.ts';
import { passing } from './fixtures.ts';

const ME = worker('gateway-worker');
const BUILT_IN = { ...ME, builtIn: true } as const;
const WHICH = { question: 'Which one?', to: 'head', timeoutMs: 60_000 };

function clientOf({ engine, clock }: Opened) {
  return embeddedClient(engine, clock, ME);
}

async function claimOne(spine: Opened) {
  const [job] = await clientOf(spine).jobs.claimNext({ targets: ['any'], leaseMs: 30_000 });
  return job ?? assert.fail('nothing to claim');
}

/** One job through a worker, until `isOver`. It reports no trouble but what is said. */
async function work(
  spine: Opened,
  handler: Handler,
  isOver: () => Promise<boolean>,
  actor: Actor = ME,
  trouble: readonly string[] = [],
): Promise<void> {
  const errors: (string | undefined)[] = [];
  const one = new Worker({
    client: embeddedClient(spine.engine, spine.clock, actor),
    targets: ['any'],
    handler,
    onError: (error) => errors.push(error instanceof SpineApiError ? error.code : String(error)),
  });
  const whole = one.run();
  await until('the job is over', isOver);
  await one.stop();
  await whole;
  assert.deepEqual(errors, trouble);
}

/** As many questions as one asker may have open, all of the run's schedule. */
async function askWithoutEnd({ engine }: Opened, { no }: Job): Promise<void> {
  const questions = Array.from({ length: LIMITS.openQuestions }, (_, i) => ({
    id: `q${i}`,
    jobNo: no,
    rootNo: no,
    text: 'Still open?',
    to: 'head',
    choices: null,
    schema: null,
    fallback: null,
    askedBy: BUILT_IN.name,
    askedAt: 0,
    expiresAt: Number.MAX_SAFE_INTEGER,
    leaseToken: null,
    status: 'open' as const,
    answer: null,
    answeredBy: null,
    answeredAt: null,
  }));
  await engine.core.flusher.transact(HEAD, async (tx) => tx.questions.insert(questions));
}

suite('a client without HTTP', () => {
  onEvery(DIALECTS, (each) => {
    each('asks, keeps a checkpoint and goes on with both, in one attempt', async (spine) => {
      const made = await create(spine, { maxAttempts: 1 });
      const handler: Handler = async (_, { ask, checkpoint, lastCheckpoint }) => {
        await checkpoint({ half: true });
        return [await ask({ question: 'Go on?', to: 'head', timeoutMs: 60_000 }), lastCheckpoint];
      };
      const answered = (async () => {
        await until('it has asked', async () => (await read(spine, made)).state === 'blocked');
        const [question] = await spine.engine.questions.list(HEAD, { open: true, limit: 1 });
        await spine.engine.questions.answer(HEAD, question?.id ?? '', 'yes');
      })();
      await work(spine, handler, async () => (await read(spine, made)).state === 'done');
      await answered;
      const { result } = (await spine.engine.jobs.details([await read(spine, made)])).get(made.no) ?? {};
      assert.equal(result, '["yes",{"half":true}]');
    });

    each('lets the work behind it go on when a schedule has no room for one more question', async (spine) => {
      const asking = await plan(spine, { name: 'asking', max_retries: 0 });
      const other = await plan(spine, { name: 'other' });
      const first = await runNow(spine, asking);
      await askWithoutEnd(spine, first);
      const behind = await runNow(spine, other);
      const handler: Handler = async (job, { ask }) => {
        if (job.id !== first.id) return 'done';
        await spine.engine.runs.note(BUILT_IN, job.id, job.leaseToken, { dispatchedAt: 1 });
        return ask(WHICH);
      };
      const isDone = async () => (await read(spine, behind)).state === 'done';
      await work(spine, handler, isDone, BUILT_IN);
      const waits = await read(spine, first);
      assert.deepEqual([waits.state, waits.attempts], ['scheduled', 0]);
      const [line] = await spine.engine.jobs.logs(HEAD, first.id, 0, 10);
      assert.match(line?.text ?? '', /^Put off: it could not ask\. The schedule .* has 1000 questions/);
      assert.equal((await spine.engine.runs.get(HEAD, first.id)).run.dispatchedAt, null);
      // Another schedule has room of its own.
      const third = await runNow(spine, other);
      await work(
        spine,
        (_, { ask }) => ask(WHICH),
        async () => (await read(spine, third)).state === 'blocked',
        BUILT_IN,
      );
      // It has tried for longer than it would have waited for an answer.
      await spine.clock.advance(300_000);
      await runTimers(spine);
      const hasFailed = async () => (await read(spine, first)).finishedAt !== null;
      await work(spine, handler, hasFailed, BUILT_IN, ['conflict']);
      const { error } = (await spine.engine.jobs.details([await read(spine, first)])).get(first.no) ?? {};
      assert.match(JSON.stringify(error), /found no room for its question again and again/);
    });

    each('shows a claimed job as HTTP does, held in a way that can be adopted', async (spine) => {
      const made = await create(spine, {
        title: 'work',
        spec: { message: 'hi' },
        meta: { a: [1] },
        params: { n: 2 },
        tags: ['x'],
        timeoutMs: 60_000,
      });
      const job = await claimOne(spine);
      const now = new Date(spine.engine.now()).toISOString();
      assert.equal(job.id, made.id);
      assert.deepEqual(
        [job.spec, job.meta, job.params, job.tags, job.title],
        [{ message: 'hi' }, { a: [1] }, { n: 2 }, ['x'], 'work'],
      );
      assert.deepEqual([job.claimedBy, job.attempt, job.timeoutMs], ['gateway-worker', 1, 60_000]);
      assert.deepEqual([job.createdAt, job.updatedAt], [now, now]);
      assert.equal(Date.parse(job.leaseUntil ?? '') - Date.parse(job.updatedAt), 30_000);
      const stored = await read(spine, made);
      assert.deepEqual([stored.leaseToken, stored.leasePolicy], [job.leaseToken, 'adopt']);
    });

    each('is refused as over HTTP', async (spine) => {
      await create(spine);
      const job = await claimOne(spine);
      const { jobs } = clientOf(spine);
      await jobs.finish(job, 'complete', { result: 1 });
      const refusal = await jobs.heartbeat(job).catch((error: unknown) => error);
      assert.ok(refusal instanceof SpineApiError);
      assert.deepEqual([refusal.code, refusal.status, refusal.retryable], ['lease_lost', 409, false]);
      assert.equal(refusal.details['state'], 'done');
    });

    each('ends one job and takes the next in one call', async (spine) => {
      const first = await create(spine);
      const second = await create(spine);
      const { jobs } = clientOf(spine);
      const job = await claimOne(spine);
      const next = await jobs.finish(job, 'complete', { result: 1, next: { targets: ['any'] } });
      assert.deepEqual([job.id, next[0]?.id], [first.id, second.id]);
      assert.equal((await read(spine, second)).leasePolicy, 'adopt');
    });

    each('is told by an engine that stops to come back later', async (spine) => {
      spine.engine.core.stopWaiting();
      const claim = clientOf(spine).jobs.claimNext({ targets: ['any'], waitMs: 1_000 });
      await assert.rejects(claim, { code: 'shutting_down', status: 503, retryable: true });
    });

    each('a wait for work ends with its signal', async (spine) => {
      const stop = new AbortController();
      const { jobs } = clientOf(spine);
      const claim = jobs.claimNext({ targets: ['any'], waitMs: 60_000 }, { signal: stop.signal });
      await rest();
      stop.abort();
      assert.deepEqual(await claim, []);
    });
  });
});

suite('a handler', () => {
  onEvery(DIALECTS, (each) => {
    each('can say what kind of failure it was, and in which words it is stored', async (spine) => {
      const made = await create(spine, { retry: { mode: 'lineage', max: 0 } });
      const handler = () => {
        throw new JobFailure('silent', { details: { seen: 3 }, cause: 'stale' });
      };
      await work(spine, handler, async () => (await read(spine, made)).finishedAt !== null);
      const job = await read(spine, made);
      assert.deepEqual([job.state, job.cause], ['dead', 'stale']);
      const details = (await spine.engine.jobs.details([job])).get(job.no);
      assert.deepEqual(JSON.parse(details?.error ?? ''), { message: 'silent', seen: 3 });
    });

    each('can fail for good', async (spine) => {
      const made = await create(spine);
      const handler = () => {
        throw new JobFailure('no', { requeue: false });
      };
      await work(spine, handler, async () => (await read(spine, made)).finishedAt !== null);
      assert.equal((await read(spine, made)).state, 'failed');
    });

    each('can put its job off, which is no attempt, and says why in its log', async (spine) => {
      const made = await create(spine, { maxAttempts: 1 });
      const handler = () => {
        throw new PutOff(5_000, 'the gateway is down');
      };
      await work(spine, handler, async () => (await read(spine, made)).state === 'scheduled');
      const job = await read(spine, made);
      assert.deepEqual([job.attempts, job.runAt], [0, spine.engine.now() + 5_000]);
      const [line] = await spine.engine.jobs.logs(HEAD, made.id, 0, 10);
      assert.equal(line?.text, 'Put off: the gateway is down');
      await spine.clock.advance(5_000);
      await runTimers(spine);
      assert.equal((await read(spine, made)).state, 'queued');
    });
  });
});

suite('a worker', () => {
  onEvery(DIALECTS, (each) => {
    each('that pauses claims nothing until it resumes', async (spine) => {
      const seen: string[] = [];
      const one = new Worker({
        client: clientOf(spine),
        targets: ['any'],
        handler: ({ id }) => seen.push(id),
      });
      const whole = one.run();
      await until('it waits for work', () => spine.engine.core.waiters.size === 1);
      one.pause();
      await until('it waits no more', () => spine.engine.core.waiters.size === 0);
      const made = await create(spine);
      await rest();
      assert.equal((await read(spine, made)).state, 'queued');
      one.resume();
      await until('the job is done', async () => (await read(spine, made)).state === 'done');
      assert.deepEqual(seen, [made.id]);
      one.pause();
      await one.stop();
      await whole;
    });

    each('can be told from outside to stop one job', async (spine) => {
      const [one, other] = [await create(spine), await create(spine)];
      const begun: string[] = [];
      const two = new Worker({
        client: clientOf(spine),
        targets: ['any'],
        concurrency: 2,
        handler: ({ id }, { signal }) =>
          new Promise((_, reject) => {
            begun.push(id);
            signal.addEventListener('abort', () => reject(signal.reason as Error));
          }),
      });
      const whole = two.run();
      await until('both have begun', () => begun.length === 2);
      assert.deepEqual(
        two
          .held()
          .map(({ id }) => id)
          .toSorted(),
        [one.id, other.id].toSorted(),
      );
      await spine.engine.jobs.cancel(HEAD, one.id, null);
      two.interrupt(one.id, 'cancelled');
      await until('it is cancelled', async () => (await read(spine, one)).state === 'cancelled');
      assert.equal((await read(spine, other)).state, 'running');
      await passing(spine, two.stop({ drainMs: 0 }));
      await whole;
    });
  });
});
