import { deepStrictEqual, match, ok, rejects, strictEqual, throws } from 'node:assert';
import { suite, test } from 'node:test';
import {
  type AgentMessage,
  type ClaimedJob,
  type Handler,
  JobInterrupted,
  NonRetryableError,
  Worker,
  type WorkerOptions,
} from '../../src/client/index.ts';
import { FakeJobs, refusal } from './fake-jobs.ts';
import { FakePlatform, nextRound } from './support.ts';

function setUp(handler: Handler, options: Partial<WorkerOptions> = {}) {
  const platform = new FakePlatform();
  const jobs = new FakeJobs();
  const reported: unknown[] = [];
  const worker = new Worker({
    client: { jobs: jobs.asJobs, platform },
    handler,
    onError: (error) => reported.push(error),
    ...options,
  });
  return { platform, jobs, reported, worker };
}

/** A handler whose jobs end when the test says so. */
function byHand() {
  const started: ClaimedJob[] = [];
  const ends = new Map<string, (result?: unknown) => void>();
  const handler: Handler = (job) => {
    started.push(job);
    return new Promise((resolve) => ends.set(job.id, resolve));
  };
  return {
    handler,
    started,
    finish: async (id: string, result?: unknown) => {
      ends.get(id)?.(result);
      await nextRound();
    },
  };
}

suite('claiming', () => {
  test('takes as many jobs as it has slots, and the next with the end of one', async () => {
    const { handler, started, finish } = byHand();
    const { jobs, worker } = setUp(handler, { targets: ['any'], leaseMs: 9_000, concurrency: 2 });
    jobs.add({ id: 'a' }, { id: 'b' }, { id: 'c' });
    const running = worker.run();
    await nextRound();
    deepStrictEqual(
      started.map(({ id }) => id),
      ['a', 'b'],
    );
    const { max, waitMs, targets, leaseMs } = jobs.calls[0]?.fields ?? {};
    deepStrictEqual(
      { max, waitMs, targets, leaseMs },
      { max: 2, waitMs: 20_000, targets: ['any'], leaseMs: 9_000 },
    );
    await finish('a', 'done');
    const [complete] = jobs.of('complete');
    deepStrictEqual([complete?.id, complete?.fields['result']], ['a', 'done']);
    strictEqual((complete?.fields['next'] as { max?: number } | undefined)?.max, 1);
    strictEqual(started.at(-1)?.id, 'c');
    strictEqual(jobs.of('claimNext').length, 1);
    const stopped = worker.stop();
    await finish('b');
    await finish('c');
    await Promise.all([running, stopped]);
  });

  test('asks for no next job while another call waits for one already', async () => {
    const { handler, finish } = byHand();
    const { jobs, worker } = setUp(handler, { concurrency: 2 });
    jobs.add({ id: 'a' });
    const running = worker.run();
    await nextRound();
    await finish('a');
    strictEqual(jobs.of('complete')[0]?.fields['next'], undefined);
    await worker.stop();
    await running;
  });

  test('does without `next` where the server does not know it', async () => {
    const { jobs, worker } = setUp(() => 'ok');
    jobs.trouble = ({ fields }) =>
      fields['next'] ? refusal(400, 'bad_request', { field: 'next' }) : undefined;
    jobs.add({ id: 'a' }, { id: 'b' });
    const running = worker.run();
    for (let i = 0; i < 5; i++) await nextRound();
    deepStrictEqual(
      jobs.of('complete').map(({ id, fields }) => [id, 'next' in fields && fields['next'] !== undefined]),
      [
        ['a', true],
        ['a', false],
        ['b', false],
      ],
    );
    await worker.stop();
    await running;
  });

  test('repeats a claim under the same id until it is answered', async () => {
    const { handler, started, finish } = byHand();
    const { jobs, worker, platform } = setUp(handler);
    let failures = 0;
    jobs.trouble = ({ verb }) => (verb === 'claimNext' && failures++ < 2 ? 'lost' : undefined);
    jobs.add({ id: 'a' }, { id: 'b' });
    const running = worker.run();
    await platform.advance(1_000);
    strictEqual(new Set(jobs.of('claimNext').map(({ fields }) => fields['claimId'])).size, 1);
    deepStrictEqual(
      started.map(({ id }) => id),
      ['a'],
    );
    await finish('a');
    await finish('b');
    await worker.stop();
    await running;
  });

  test('asks again for the next job of an end whose answer was lost, and runs it once', async () => {
    const { jobs, worker, platform } = setUp(() => 'ok');
    jobs.trouble = ({ verb, id }) =>
      verb === 'complete' && id === 'a' && jobs.of('complete').length === 1 ? 'lost' : undefined;
    jobs.add({ id: 'a' }, { id: 'b' });
    const running = worker.run();
    await platform.advance(2_000);
    deepStrictEqual(
      jobs.of('complete').map(({ id }) => id),
      ['a', 'a', 'b'],
    );
    await worker.stop();
    await running;
  });

  test('asks for the next job of an end that was never answered, once the lease of that end is over', async () => {
    const { jobs, worker, platform } = setUp(() => 'ok');
    jobs.trouble = ({ verb, id }) => {
      if (id !== 'a') return undefined;
      return verb === 'complete' ? 'lost' : refusal(503, 'store_unavailable');
    };
    jobs.add({ id: 'a' }, { id: 'b' });
    const running = worker.run();
    await platform.advance(6_000);
    deepStrictEqual(jobs.of('complete').at(-1)?.id, 'b');
    await worker.stop();
    await running;
  });

  test('never starts a job twice under one lease', async () => {
    const { handler, started, finish } = byHand();
    const { jobs, worker } = setUp(handler, { concurrency: 3 });
    const twin = { id: 'a', leaseToken: 'same' };
    jobs.add(twin, twin, { id: 'b' });
    const running = worker.run();
    await nextRound();
    deepStrictEqual(
      started.map(({ id }) => id),
      ['a', 'b'],
    );
    const stopped = worker.stop();
    await finish('a');
    await finish('b');
    await Promise.all([running, stopped]);
  });

  test('goes on after refusals that pass, more slowly each time', async () => {
    const { jobs, worker, platform, reported } = setUp(() => 'ok');
    jobs.trouble = ({ verb }) =>
      verb === 'claimNext' && jobs.of('claimNext').length < 4 ? refusal(429, 'overloaded') : undefined;
    jobs.add({ id: 'a' });
    const running = worker.run();
    await platform.advance(100);
    strictEqual(jobs.of('claimNext').length, 2);
    await platform.advance(10_000);
    strictEqual(jobs.of('complete').length, 1);
    strictEqual(reported.length, 3);
    await worker.stop();
    await running;
  });

  test('counts refusals anew after its first answer', async () => {
    const waits: number[] = [];
    const claimRetryMs = (failures: number): number => {
      waits.push(failures);
      return 1_000;
    };
    const { jobs, worker, platform } = setUp(() => 'ok', { claimRetryMs });
    let isAway = true;
    jobs.trouble = ({ verb }) =>
      isAway && verb === 'claimNext' ? refusal(503, 'store_unavailable') : undefined;
    jobs.add({ id: 'a' });
    const running = worker.run();
    await platform.advance(2_500);
    isAway = false;
    await platform.advance(1_000);
    strictEqual(jobs.of('complete').length, 1);
    isAway = true;
    jobs.add({ id: 'b' });
    await platform.advance(1_500);
    deepStrictEqual(waits, [0, 1, 2, 0, 1]);
    await worker.stop();
    await running;
  });

  test('ends with an error when its token is refused', async () => {
    const { jobs, worker } = setUp(() => 'ok');
    jobs.add({ id: 'a' });
    jobs.trouble = () => refusal(401, 'unauthorized');
    await rejects(worker.run(), { code: 'unauthorized' });
  });

  test('refuses a number of slots that is none', () => {
    for (const concurrency of [0, -1, 1.5, Number.NaN, 1_001])
      throws(() => setUp(() => 0, { concurrency }), /concurrency must be a whole number/);
  });
});

suite('ending', () => {
  async function ends(
    handler: Handler,
    trouble?: FakeJobs['trouble'],
  ): Promise<{ jobs: FakeJobs; reported: unknown[] }> {
    const { jobs, worker, platform, reported } = setUp(handler);
    if (trouble) jobs.trouble = trouble;
    jobs.add({ id: 'a', leaseMs: 30_000 });
    const running = worker.run();
    await platform.advance(5_000);
    await worker.stop();
    await running;
    return { jobs, reported };
  }

  test('a thrown error fails the job with its name, words and stack', async () => {
    const { jobs, reported } = await ends(() => {
      throw new RangeError('too far');
    });
    const { error, requeue } = jobs.of('fail')[0]?.fields ?? {};
    const { name, message, stack } = error as Record<string, string>;
    deepStrictEqual([name, message, requeue], ['RangeError', 'too far', true]);
    match(stack ?? '', /worker\.test\.ts/);
    strictEqual((reported[0] as Error).message, 'too far');
    strictEqual(jobs.of('fail')[0]?.fields['backoff'], true, 'it waits before the next try');
  });

  test('a NonRetryableError fails the job for good', async () => {
    const { jobs } = await ends(() => {
      throw new NonRetryableError('no such customer');
    });
    strictEqual(jobs.of('fail')[0]?.fields['requeue'], false);
  });

  test('an end is sent again while the server is in trouble', async () => {
    let sent = 0;
    const { jobs } = await ends(
      () => 'ok',
      ({ verb }) => (verb === 'complete' && sent++ < 3 ? refusal(503, 'store_unavailable') : undefined),
    );
    strictEqual(jobs.of('complete').length, 4);
  });

  test('is said to be the last only when it was taken, and no other job came with it', async () => {
    const seen: string[] = [];
    const { jobs, worker, platform } = setUp(() => void seen.push('done'), {
      onIdle: () => void seen.push('idle'),
    });
    let away = true;
    jobs.trouble = ({ verb }) => (verb === 'complete' && away ? refusal(503, 'unavailable') : undefined);
    jobs.add({ id: 'a' }, { id: 'b' });
    const running = worker.run();
    await platform.advance(2_000);
    deepStrictEqual(seen, ['done']);
    away = false;
    await platform.advance(10_000);
    deepStrictEqual(seen, ['done', 'done', 'idle']);
    await worker.stop();
    await running;
  });

  test('a result that the server does not take fails the job', async () => {
    const { jobs } = await ends(
      () => 'x',
      ({ verb }) => (verb === 'complete' ? refusal(413, 'too_large') : undefined),
    );
    const { error, requeue } = jobs.of('fail')[0]?.fields ?? {};
    match((error as Error).message, /The result was refused: too_large/);
    strictEqual(requeue, false);
  });

  test('a result that is no JSON fails the job', async () => {
    const { jobs } = await ends(
      () => 1n,
      ({ verb }) =>
        verb === 'complete' ? new TypeError('Do not know how to serialize a BigInt') : undefined,
    );
    match((jobs.of('fail')[0]?.fields['error'] as Error | undefined)?.message ?? '', /serialize a BigInt/);
  });

  test('an end that was refused because the lease is lost is left at that', async () => {
    const { jobs } = await ends(
      () => 'x',
      ({ verb }) => (verb === 'complete' ? refusal(409, 'lease_lost') : undefined),
    );
    deepStrictEqual([jobs.of('complete').length, jobs.of('fail').length], [1, 0]);
  });

  test('the log is sent before the end, in lines that the server takes', async () => {
    const { jobs } = await ends((_job, { log }) => {
      log('one\ntwo\0', 'warn');
      log('');
      log('x'.repeat(20_000));
    });
    const verbs = jobs.calls.map(({ verb }) => verb);
    ok(verbs.indexOf('log') < verbs.indexOf('complete'));
    const lines = jobs.of('log')[0]?.fields as unknown as { text: string; level: string }[];
    deepStrictEqual(
      lines.map(({ text, level }) => [text.length, level]),
      [
        [3, 'warn'],
        [3, 'warn'],
        [16_384, 'info'],
      ],
    );
  });

  test('no line of the log is sent once the job is not ours any more', async () => {
    const { handler, finish } = byHand();
    const { jobs, worker, platform } = setUp((job, context) => {
      context.log('a line');
      return handler(job, context);
    });
    jobs.trouble = ({ verb }) => (verb === 'log' || verb === 'heartbeat' ? refusal(503, 'x') : undefined);
    jobs.add({ id: 'a', leaseMs: 3_000 });
    const running = worker.run();
    await platform.advance(2_700);
    strictEqual(jobs.of('log').length, 2);
    await finish('a');
    await platform.advance(60_000);
    strictEqual(jobs.of('log').length, 2);
    await worker.stop();
    await running;
  });

  test('a job that was cancelled is given back when its handler stops', async () => {
    const { jobs, worker, platform } = setUp(
      (_job, { signal }) =>
        new Promise((_resolve, reject) =>
          signal.addEventListener('abort', () => reject(signal.reason as Error)),
        ),
    );
    jobs.beat = { cancelRequested: true };
    jobs.add({ id: 'a', leaseMs: 3_000 });
    const running = worker.run();
    await platform.advance(1_100);
    deepStrictEqual([jobs.of('release').length, jobs.of('fail').length], [1, 0]);
    await worker.stop();
    await running;
  });

  test('a result that came after the lease could not be renewed is never sent', async () => {
    const { handler, finish, started } = byHand();
    const signals: AbortSignal[] = [];
    const { jobs, worker, platform, reported } = setUp((job, context) => {
      signals.push(context.signal);
      return handler(job, context);
    });
    jobs.trouble = ({ verb }) => (verb === 'heartbeat' ? refusal(503, 'store_unavailable') : undefined);
    jobs.add({ id: 'a', leaseMs: 3_000 });
    const running = worker.run();
    await platform.advance(2_700);
    strictEqual(started.length, 1);
    strictEqual(signals[0]?.aborted, true);
    await finish('a', 'too late');
    const stopped = worker.stop();
    await Promise.all([running, stopped]);
    deepStrictEqual(
      [jobs.of('complete').length, jobs.of('fail').length, jobs.of('release').length],
      [0, 0, 0],
    );
    ok(reported.some((error) => error instanceof JobInterrupted && error.why === 'lease_lost'));
  });

  test('a result of a process that was frozen beyond its lease is never sent', async () => {
    const { handler, finish } = byHand();
    const { jobs, worker, platform } = setUp(handler);
    jobs.add({ id: 'a', leaseMs: 3_000 });
    const running = worker.run();
    await nextRound();
    platform.freeze(3_000);
    await finish('a', 'too late');
    await worker.stop();
    await running;
    strictEqual(jobs.of('complete').length, 0);
  });

  test('somebody who listens badly does not stop the work', async () => {
    const { jobs, worker, platform } = setUp(
      () => {
        throw new Error('the handler');
      },
      {
        onError: () => {
          throw new Error('the listener');
        },
      },
    );
    jobs.add({ id: 'a' }, { id: 'b' });
    const { error } = console;
    console.error = () => {};
    const running = worker.run();
    await platform.advance(100);
    console.error = error;
    strictEqual(jobs.of('fail').length, 2);
    await worker.stop();
    await running;
  });
});

suite('stopping', () => {
  test('waits for what runs and claims nothing more', async () => {
    const { handler, finish } = byHand();
    const { jobs, worker } = setUp(handler);
    jobs.add({ id: 'a' }, { id: 'b' });
    const running = worker.run();
    await nextRound();
    const stopped = worker.stop();
    await finish('a', 'whole');
    await Promise.all([running, stopped]);
    const [complete] = jobs.of('complete');
    deepStrictEqual([complete?.fields['result'], complete?.fields['next']], ['whole', undefined]);
    strictEqual(jobs.queue.length, 1);
  });

  test('after the drain handlers are told, and what does not stop is given back', async () => {
    const reasons: string[] = [];
    const { jobs, worker, platform } = setUp(
      (job, { signal }) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => {
            reasons.push((signal.reason as JobInterrupted).why);
            if (job.id === 'polite') reject(signal.reason as Error);
          });
        }),
      { concurrency: 2, drainMs: 4_000 },
    );
    jobs.add({ id: 'polite' }, { id: 'deaf' });
    const running = worker.run();
    await nextRound();
    const stopped = worker.stop();
    await platform.advance(3_999);
    deepStrictEqual([reasons.length, jobs.of('release').length], [0, 0]);
    await platform.advance(1);
    deepStrictEqual(reasons, ['shutdown', 'shutdown']);
    deepStrictEqual(
      jobs.of('release').map(({ id }) => id),
      ['polite'],
    );
    await platform.advance(1_000);
    await Promise.all([running, stopped]);
    deepStrictEqual(
      jobs.of('release').map(({ id }) => id),
      ['polite', 'deaf'],
    );
    strictEqual(jobs.of('fail').length, 0);
  });

  test('told once more it waits no longer, also for an end that no server takes', async () => {
    const { jobs, worker, platform } = setUp(
      (_job, { signal }) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => reject(signal.reason as Error));
        }),
      { drainMs: 300_000 },
    );
    jobs.trouble = ({ verb }) => (verb === 'release' ? refusal(503, 'unavailable') : undefined);
    jobs.add({ id: 'a' });
    const running = worker.run();
    await nextRound();
    void worker.stop();
    await platform.advance(10_000);
    strictEqual(jobs.of('release').length, 0);
    const stopped = worker.stop({ drainMs: 0 });
    await platform.advance(1_000);
    await Promise.all([running, stopped]);
    ok(jobs.of('release').length > 0);
  });

  test('tells work that has ended its own job to stop as well, though its lease tells nothing any more', async () => {
    const reasons: string[] = [];
    const { jobs, worker, platform } = setUp(
      (_job, { signal, endedItself }) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => {
            const left = endedItself();
            reasons.push((signal.reason as JobInterrupted).why);
            left.addEventListener('abort', () => reject(left.reason as Error));
          });
        }),
      { drainMs: 4_000 },
    );
    jobs.trouble = ({ verb }) => (verb === 'heartbeat' ? refusal(409, 'lease_lost') : undefined);
    jobs.add({ id: 'a' });
    const running = worker.run();
    await platform.advance(60_000);
    deepStrictEqual(reasons, ['lease_lost']);
    let ended = false;
    const stopped = worker.stop().then(() => (ended = true));
    await platform.advance(3_999);
    strictEqual(ended, false);
    await platform.advance(1);
    await Promise.all([running, stopped]);
    strictEqual(jobs.of('release').length, 0);
  });

  test('gives back what came along with the end of another job while it stopped', async () => {
    const started: string[] = [];
    const { jobs, worker } = setUp(({ id }) => void started.push(id));
    jobs.trouble = ({ verb }) => {
      if (verb === 'complete') void worker.stop();
      return undefined;
    };
    jobs.add({ id: 'a' }, { id: 'b' });
    await worker.run();
    deepStrictEqual(started, ['a']);
    deepStrictEqual(
      jobs.of('release').map(({ id }) => id),
      ['b'],
    );
  });

  test('gives back what was claimed by a call whose answer it did not wait for', async () => {
    const { jobs, worker, platform } = setUp(() => 'ok');
    jobs.trouble = ({ verb, fields }) => (verb === 'claimNext' && !fields['types'] ? 'lost' : undefined);
    jobs.add({ id: 'a' });
    const running = worker.run();
    await nextRound();
    const stopped = worker.stop();
    await platform.advance(0);
    await Promise.all([running, stopped]);
    deepStrictEqual(
      jobs.of('release').map(({ id }) => id),
      ['a'],
    );
  });

  test('a worker runs once', async () => {
    const { worker } = setUp(() => 'ok');
    const running = worker.run();
    throws(() => worker.run(), /Make a new one/);
    await worker.stop();
    await running;
  });
});

suite('asking in the middle of a job', () => {
  const WHICH = { question: 'Which one?', to: '@ops', timeoutMs: 60_000 };

  test('ends the attempt with the question, and asks for no next job with it', async () => {
    const { jobs, reported, worker } = setUp(async (_, { ask }) => `took ${String(await ask(WHICH))}`);
    jobs.add({ id: 'a' });
    const running = worker.run();
    await nextRound();
    deepStrictEqual(
      jobs.of('ask').map(({ id, fields }) => [id, fields]),
      [['a', WHICH]],
    );
    strictEqual(jobs.of('complete').length + jobs.of('fail').length, 0);
    deepStrictEqual(reported, []);
    await worker.stop();
    await running;
  });

  test('gives the answer to the same question when the job comes back', async () => {
    const { jobs, worker } = setUp(async (_, { ask, answers, lastCheckpoint }) => [
      await ask(WHICH),
      answers.length,
      lastCheckpoint,
    ]);
    const answers = [{ question: WHICH.question, answer: 'the red one', by: 'head', at: '' }];
    jobs.add({ id: 'a', answers, checkpoint: { step: 2 } });
    const running = worker.run();
    await nextRound();
    deepStrictEqual(jobs.of('complete')[0]?.fields['result'], ['the red one', 1, { step: 2 }]);
    strictEqual(jobs.of('ask').length, 0);
    await worker.stop();
    await running;
  });

  test('fails in words where the answer may be among those that found no room in the claim', async () => {
    const { jobs, worker } = setUp((_, { ask }) => ask(WHICH));
    jobs.add({ id: 'a', answersLeftOut: true });
    const running = worker.run();
    await nextRound();
    const { error, requeue } = jobs.of('fail')[0]?.fields ?? {};
    match((error as { message: string }).message, /more answers than its claim can tell of/);
    deepStrictEqual([requeue, jobs.of('ask').length], [false, 0]);
    await worker.stop();
    await running;
  });

  test('cannot be swallowed by the handler', async () => {
    const { jobs, worker } = setUp(async (job, { ask }) => {
      if (job.id === 'a') return ask(WHICH).catch(() => 'never mind');
      void ask(WHICH);
      throw new Error('something else');
    });
    jobs.add({ id: 'a' });
    jobs.add({ id: 'b' });
    const running = worker.run();
    await nextRound();
    await nextRound();
    deepStrictEqual(
      jobs.of('ask').map(({ id }) => id),
      ['a', 'b'],
    );
    await worker.stop();
    await running;
  });

  test('fails the job when the question is one that the server does not take', async () => {
    const { jobs, worker } = setUp((_, { ask }) => ask(WHICH));
    jobs.trouble = ({ verb }) => (verb === 'ask' ? refusal(400, 'bad_request', { field: 'to' }) : undefined);
    jobs.add({ id: 'a' });
    const running = worker.run();
    await nextRound();
    const { error, requeue } = jobs.of('fail')[0]?.fields ?? {};
    strictEqual((error as { name?: string } | undefined)?.name, 'QuestionRefused');
    strictEqual(requeue, false);
    await worker.stop();
    await running;
  });

  test('gives the job back until there is room for the question, and holds no slot for it', async () => {
    const { platform, jobs, worker } = setUp((job, { ask }) => (job.id === 'a' ? ask(WHICH) : 'done'));
    jobs.trouble = ({ verb }) => (verb === 'ask' ? refusal(429, 'rate_limited', {}, 300_000) : undefined);
    jobs.add({ id: 'a' });
    jobs.add({ id: 'b' });
    const running = worker.run();
    await nextRound();
    await nextRound();
    const [later] = jobs.of('snooze');
    deepStrictEqual([later?.id, jobs.of('ask').length], ['a', 1]);
    const untilAt = later?.fields['untilAt'];
    ok(untilAt instanceof Date && untilAt.getTime() >= platform.nowMs() + 300_000);
    deepStrictEqual(
      jobs.of('complete').map(({ id }) => id),
      ['b'],
    );
    await worker.stop();
    await running;
  });

  test('keeps a checkpoint that met a server which was away', async () => {
    const { platform, jobs, worker } = setUp(async (_, { checkpoint }) => {
      await checkpoint('half');
      return 'whole';
    });
    let away = 2;
    jobs.trouble = ({ verb }) =>
      verb === 'checkpoint' && away-- > 0 ? refusal(503, 'store_unavailable') : undefined;
    jobs.add({ id: 'a' });
    const running = worker.run();
    await nextRound();
    for (let i = 0; i < 5; i++) await platform.advance(2_000);
    strictEqual(jobs.of('checkpoint').length, 3);
    strictEqual(jobs.of('complete')[0]?.fields['result'], 'whole');
    await worker.stop();
    await running;
  });

  test('keeps text as text and anything else as data', async () => {
    const { jobs, worker } = setUp(async (_, { checkpoint }) => {
      await checkpoint('half');
      await checkpoint({ done: 3 });
    });
    jobs.add({ id: 'a' });
    const running = worker.run();
    await nextRound();
    deepStrictEqual(
      jobs.of('checkpoint').map(({ fields }) => fields),
      [{ text: 'half' }, { data: { done: 3 } }],
    );
    await worker.stop();
    await running;
  });
});

suite('messages', () => {
  const message = (id: string): AgentMessage => ({
    id,
    from_agent: 'bob',
    to_agent: 'alice',
    kind: 'text',
    subject: null,
    body: id,
    priority: 0,
    owner: null,
    reply_to: null,
    created_at: '2026-01-01T00:00:00.000Z',
    expires_at: null,
  });

  test('are heard once by the worker, with the job that brought them, whatever comes again [SC-11]', async () => {
    const heard: string[] = [];
    const inHandler: string[] = [];
    const { handler, finish } = byHand();
    const { jobs, platform, worker, reported } = setUp(
      (job, context) => {
        context.onMessage(({ id }) => inHandler.push(id));
        return handler(job, context);
      },
      {
        onMessage: ({ id }, job) => {
          heard.push(`${job.id} ${id}`);
          if (id === 'two') throw new Error('deaf');
        },
      },
    );
    jobs.beat = { messages: [message('two')] };
    jobs.add(
      { id: 'a', leaseMs: 3_000, messages: [message('one')] },
      { id: 'b', messages: [message('one')] },
    );
    const running = worker.run();
    await nextRound();
    deepStrictEqual([heard, inHandler], [['a one'], ['one']]);
    await platform.advance(2_000);
    deepStrictEqual(heard, ['a one', 'a two']);
    strictEqual((reported[0] as Error).message, 'deaf');
    await finish('a');
    deepStrictEqual(heard, ['a one', 'a two']);
    await finish('b');
    await worker.stop();
    await running;
  });
});
