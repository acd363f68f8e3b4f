import type { AgentMessage } from '../../src/client/message-types.ts';
import { deepStrictEqual, rejects, strictEqual } from 'node:assert';
import { test } from 'node:test';
import { type JobInterrupted, SpineApiError, SpineConnectionError } from '../../src/client/errors.ts';
import { HeldLease } from '../../src/client/held-lease.ts';
import type { ClaimedJob, Job } from '../../src/client/types.ts';
import { claimedJob, FakePlatform, iso } from './support.ts';

type Beat = (
  sent: { progress?: unknown; leaseMs?: number },
  now: number,
) => Partial<Job & { messages: readonly AgentMessage[] }> | Error;

function setUp(options: { beat?: Beat; job?: Partial<ClaimedJob>; askedAgoMs?: number } = {}) {
  const platform = new FakePlatform();
  const startedAt = platform.nowMs();
  const job = claimedJob({ leaseMs: 3_000, ...options.job });
  const beats: { at: number; progress?: unknown; leaseMs?: number }[] = [];
  const reported: unknown[] = [];
  const lease = new HeldLease(
    {
      platform,
      report: (error) => reported.push(error),
      jobs: {
        heartbeat: async (_held, sent) => {
          const at = platform.nowMs() - startedAt;
          beats.push({ at, ...sent });
          const answer = options.beat?.(sent ?? {}, at) ?? {};
          if (answer instanceof Error) throw answer;
          return { ...job, updatedAt: iso(at), leaseUntil: iso(at + job.leaseMs), ...answer };
        },
      },
    },
    job,
    startedAt - (options.askedAgoMs ?? 0),
  );
  const why = (): string | undefined => (lease.signal.reason as JobInterrupted | undefined)?.why;
  return { platform, lease, beats, reported, why, times: () => beats.map(({ at }) => at) };
}

const noServer = (): Error => new SpineConnectionError('no', { code: 'ECONNREFUSED', mayHaveArrived: false });

function refusal(status: number, code: string): SpineApiError {
  const facts = { hint: null, retryable: false, details: {}, requestId: null, retryAfterMs: null };
  return new SpineApiError({ ...facts, status, code, message: code });
}

test('renews a lease every third of it', async () => {
  const { platform, lease, times } = setUp();
  strictEqual(await lease.begin(), true);
  await platform.advance(3_500);
  deepStrictEqual(times(), [1_000, 2_000, 3_000]);
  strictEqual(lease.isHeld(), true);
  lease.stop();
  await platform.advance(60_000);
  strictEqual(times().length, 3);
  strictEqual(lease.signal.aborted, false);
});

test('asks for a longer lease at once, again after trouble, and says when it is granted', async () => {
  const { platform, lease, beats } = setUp({
    beat: ({ leaseMs }, at) =>
      at < 500 ? noServer() : leaseMs === undefined ? {} : { leaseUntil: iso(at + leaseMs) },
  });
  await lease.begin();
  await platform.advance(100);
  let grantedAt: number | null = null;
  const began = platform.nowMs() - 100;
  const granted = lease.extend(60_000).then(() => (grantedAt = platform.nowMs() - began));
  await platform.advance(50);
  strictEqual(grantedAt, null);
  strictEqual(beats[0]?.leaseMs, 60_000);
  await platform.advance(2_000);
  await granted;
  strictEqual(beats.filter(({ leaseMs }) => leaseMs === 60_000).length, beats.length);
  // Nothing can be sent for longer than the job's own lease, and the job is still ours.
  await platform.advance(15_000);
  strictEqual(lease.isHeld(), true);
  lease.stop();
});

test('a longer lease that the server refuses, or that is lost first, rejects and costs nothing else', async () => {
  const { platform, lease, beats } = setUp({
    beat: ({ leaseMs }) => (leaseMs === undefined ? {} : refusal(400, 'bad_request')),
  });
  await lease.begin();
  const refused = rejects(lease.extend(1e12), { code: 'bad_request' });
  await platform.advance(100);
  await refused;
  await platform.advance(1_500);
  strictEqual(lease.isHeld(), true);
  strictEqual(beats.at(-1)?.leaseMs, undefined);
  const silent = setUp({ beat: noServer });
  await silent.lease.begin();
  const lost = rejects(silent.lease.extend(60_000), { why: 'lease_lost' });
  await silent.platform.advance(3_000);
  await lost;
  await rejects(silent.lease.extend(60_000), { why: 'lease_lost' });
  lease.stop();
});

test('stops the handler before the lease is over when nobody answers', async () => {
  const { platform, lease, why, times, reported } = setUp({ beat: noServer });
  await lease.begin();
  await platform.advance(2_699);
  strictEqual(lease.signal.aborted, false);
  strictEqual(times().length > 4, true, 'tries more than once');
  await platform.advance(1);
  deepStrictEqual([why(), lease.isHeld(), lease.over.aborted], ['lease_lost', false, true]);
  const before = times().length;
  await platform.advance(60_000);
  strictEqual(times().length, before, 'sends nothing more');
  deepStrictEqual(
    reported.map((error) => (error as Error).name),
    ['SpineConnectionError', 'JobInterrupted'],
  );
});

test('counts a renewal from when it was asked for, not from when it was answered', async () => {
  const platform = new FakePlatform();
  const job = claimedJob({ leaseMs: 3_000 });
  const answers: ((job: Job) => void)[] = [];
  const heartbeat = () => new Promise<Job>((resolve) => answers.push(resolve));
  const lease = new HeldLease({ platform, report: () => {}, jobs: { heartbeat } }, job, platform.nowMs());
  await lease.begin();
  await platform.advance(2_000);
  // Sent at 1,000, renewed by the server at any time since, so it lasts until 4,000 at least.
  answers[0]?.({ ...job, updatedAt: iso(1_001), leaseUntil: iso(4_001) });
  await platform.advance(1_699);
  strictEqual(lease.isHeld(), true);
  await platform.advance(1);
  strictEqual(lease.isHeld(), false);
});

test('knows by the clock that it was frozen too long, before any timer says so', async () => {
  const { platform, lease, why } = setUp();
  await lease.begin();
  platform.freeze(10_000);
  strictEqual(lease.signal.aborted, false);
  strictEqual(lease.isHeld(), false);
  strictEqual(why(), 'lease_lost');
});

test('stops at once when the server says that the lease is lost', async () => {
  for (const error of [refusal(409, 'lease_lost'), refusal(404, 'not_found'), refusal(403, 'not_owner')]) {
    const { platform, lease, why } = setUp({ beat: () => error });
    await lease.begin();
    await platform.advance(1_000);
    deepStrictEqual([why(), lease.isHeld()], ['lease_lost', false]);
  }
});

test('goes on trying while the server is in trouble, and is well when it is back', async () => {
  let isAway = true;
  const { platform, lease } = setUp({
    beat: () => (isAway ? refusal(503, 'store_unavailable') : {}),
  });
  await lease.begin();
  await platform.advance(2_000);
  isAway = false;
  await platform.advance(10_000);
  strictEqual(lease.isHeld(), true);
  lease.stop();
});

test('tells the handler that somebody cancelled the job, and holds the lease meanwhile', async () => {
  const { platform, lease, why } = setUp({ beat: () => ({ cancelRequested: true }) });
  await lease.begin();
  await platform.advance(1_000);
  deepStrictEqual([why(), lease.isHeld()], ['cancelled', true]);
  lease.stop();
});

const mail = (id: string): AgentMessage => ({
  id,
  from_agent: 'bob',
  to_agent: 'alice',
  kind: 'text',
  subject: null,
  body: id,
  priority: 0,
  owner: null,
  reply_to: null,
  created_at: iso(0),
  expires_at: null,
});

test('hands on the messages that came with the claim and with heartbeats, also before anybody listened [SC-11]', async () => {
  const { platform, lease } = setUp({
    job: { messages: [mail('claimed')] },
    beat: (_sent, at) => ({ messages: at < 2_000 ? [mail('early')] : [mail(String(at))] }),
  });
  await lease.begin();
  await platform.advance(1_000);
  const heard: string[] = [];
  lease.listen(({ id }) => heard.push(id));
  deepStrictEqual(heard, ['claimed', 'early']);
  await platform.advance(1_000);
  deepStrictEqual(heard, ['claimed', 'early', '2000']);
});

test('says what has come after a heartbeat without an answer, and only then [SC-68]', async () => {
  const { platform, lease, beats } = setUp({
    job: { messages: [mail('claimed')] },
    beat: (_sent, at) => {
      if (at === 2_000) return noServer();
      return at === 1_000 ? { messages: [mail('one')] } : {};
    },
  });
  await lease.begin();
  await platform.advance(1_000);
  deepStrictEqual(lease.received(), {});
  await platform.advance(1_000);
  deepStrictEqual(lease.received(), { received: ['one'] });
  await platform.advance(1_000);
  deepStrictEqual(
    beats.map((beat) => ('received' in beat ? beat.received : null)),
    [null, null, ['one']],
  );
  deepStrictEqual(lease.received(), {});
});

test('sends the newest progress soon, once', async () => {
  const { platform, lease, beats } = setUp({ job: { leaseMs: 60_000 } });
  await lease.begin();
  for (const percent of [1, 2, 3]) lease.progress(percent);
  await platform.advance(5_000);
  deepStrictEqual(beats, [{ at: 1_000, progress: 3 }]);
  lease.progress(4);
  await platform.advance(0);
  deepStrictEqual(beats.at(-1), { at: 5_000, progress: 4 });
  await platform.advance(20_000);
  deepStrictEqual(beats.at(-1), { at: 25_000 });
  lease.stop();
});

test('progress never puts off a beat that a short lease needs', async () => {
  const { platform, lease, times } = setUp({ job: { leaseMs: 600 } });
  await lease.begin();
  for (let at = 0; at < 1_000; at += 50) {
    lease.progress(at);
    await platform.advance(50);
  }
  deepStrictEqual(times(), [200, 400, 600, 800, 1_000]);
  lease.stop();
});

test('progress that the server does not take does not cost the lease', async () => {
  const { platform, lease, beats } = setUp({
    beat: ({ progress }) => (progress === undefined ? {} : refusal(400, 'bad_request')),
  });
  await lease.begin();
  lease.progress('x'.repeat(20_000));
  await platform.advance(10_000);
  strictEqual(beats.filter(({ progress }) => progress !== undefined).length, 1);
  strictEqual(lease.isHeld(), true);
  lease.stop();
});

test('asks first whether a job is still its own when it came after a long wait', async () => {
  const still = setUp({ askedAgoMs: 20_000 });
  strictEqual(await still.lease.begin(), true);
  deepStrictEqual(still.times(), [0]);
  await still.platform.advance(1_000);
  deepStrictEqual(still.times(), [0, 1_000]);
  still.lease.stop();

  const gone = setUp({ askedAgoMs: 20_000, beat: () => refusal(409, 'lease_lost') });
  strictEqual(await gone.lease.begin(), false);

  const silent = setUp({ askedAgoMs: 20_000, beat: noServer });
  const begun = silent.lease.begin();
  await silent.platform.advance(3_000);
  strictEqual(await begun, false);
});

test('stops a handler that takes longer than the job allows', async () => {
  const { platform, lease, why } = setUp({ job: { timeoutMs: 5_000 } });
  await lease.begin();
  await platform.advance(4_999);
  strictEqual(lease.isHeld(), true);
  await platform.advance(1);
  deepStrictEqual([why(), lease.isHeld()], ['timeout', false]);
});

test('once the end is being sent, a refused beat does not end the trying', async () => {
  const { platform, lease } = setUp({ beat: () => refusal(409, 'lease_lost') });
  await lease.begin();
  lease.settle();
  await platform.advance(1_500);
  strictEqual(lease.isHeld(), true);
  await platform.advance(1_200);
  strictEqual(lease.isHeld(), false);
});
