import assert from 'node:assert/strict';
import type { Asking } from '../../src/engine/engine.ts';
import { LIMITS } from '../../src/domain/limits.ts';
import type { Job } from '../../src/domain/job.ts';
import { timers } from '../../src/loops/timers.ts';
import { alias, deliveries } from '../support/delivering.ts';
import { plan, runNow, take } from '../support/scheduling.ts';
import {
  claimed,
  claimNext,
  create,
  createMany,
  DIALECTS,
  eventKinds,
  failed,
  finished,
  HEAD,
  type Opened,
  onEvery,
  read,
  reasonOf,
  refusal,
  refused,
  runTimers,
  settleAll,
  stateOf,
  worker,
} from '../support/engines.ts';

const W = worker('w');
const MINUTE_MS = 60_000;
const WHICH: Asking = { question: 'Which one?', to: 'head', timeoutMs: MINUTE_MS };

async function ask(spine: Opened, job: Job, asked: Partial<Asking> = {}) {
  return spine.engine.questions.ask(W, job.id, job.leaseToken, { ...WHICH, ...asked });
}

/** A job that was claimed and has asked. */
async function asking(spine: Opened, draft = {}, asked: Partial<Asking> = {}) {
  const job = await claimed(spine, await create(spine, draft));
  const { question } = await ask(spine, job, asked);
  assert.ok(question);
  return { job, question };
}

async function answersOf(spine: Opened, job: Job) {
  const left = (await spine.engine.jobs.handedOn([job])).get(job.no);
  return (left?.answers ?? []).map(({ text, answer, answeredBy }) => [text, answer, answeredBy]);
}

onEvery(DIALECTS, (each, kind) => {
  each('a question that was answered is not handed to its agent any more', async (spine) => {
    await spine.engine.agents.register(HEAD, { id: 'helper' });
    const { question } = await asking(spine, {}, { to: 'helper' });
    await spine.engine.questions.answer(HEAD, question.id, 'mine');
    await create(spine, { target: 'elsewhere' });
    const wanted = { targets: ['elsewhere'], max: 1, waitMs: 0 };
    const [other] = await spine.engine.leases.claimNext(worker('helper'), wanted);
    assert.deepEqual(other?.messages ?? [], []);
    assert.equal(await spine.engine.messages.countUnread(HEAD, 'helper'), 0, 'nor is it left unread');
    const pending = await spine.engine.messages.list(HEAD, { status: 'pending', limit: 10 });
    assert.deepEqual(pending.messages, []);
  });

  each('a job that asks leaves its lease and waits without an attempt', async (spine) => {
    const { job, question } = await asking(spine, { maxAttempts: 1 });
    const waiting = await read(spine, job);
    assert.equal(waiting.state, 'blocked');
    assert.equal(waiting.question, question.id);
    assert.deepEqual([waiting.attempts, waiting.leaseToken, waiting.claimedBy], [0, null, null]);
    assert.equal((await claimNext(spine)).length, 0);
    assert.equal(await refusal(spine.engine.leases.heartbeat(W, job.id, job.leaseToken, null)), 'lease_lost');
    assert.equal(await refusal(spine.engine.leases.complete(W, job.id, job.leaseToken, 1)), 'lease_lost');
    assert.deepEqual(await eventKinds(spine, job), ['job.created', 'job.claimed', 'job.asked']);
  });

  each(
    'a question for an agent comes with its next claim, and its answer lets the job go on',
    async (spine) => {
      await spine.engine.agents.register(HEAD, { id: 'helper' });
      const { job, question } = await asking(spine, {}, { to: 'helper', choices: ['red', 'blue'] });
      await create(spine, { target: 'elsewhere' });
      const helper = worker('helper');
      const [other] = await spine.engine.leases.claimNext(helper, {
        targets: ['elsewhere'],
        max: 1,
        waitMs: 0,
      });
      assert.deepEqual(
        other?.messages?.map(({ sender, kind, expiresAt }) => [sender, kind, expiresAt]),
        [['w', 'task', question.expiresAt]],
      );
      assert.match(
        other?.messages?.[0]?.body ?? '',
        new RegExp(`/questions/${question.id}/answer.*red, blue`, 's'),
      );
      await spine.engine.questions.answer(helper, question.id, 'red');
      assert.equal(await stateOf(spine, job), 'queued');
    },
  );

  each('what was handed out under a lease has arrived when its holder asks', async (spine) => {
    await spine.engine.messages.send(HEAD, { kind: 'text', to: 'w', body: 'hello' });
    const job = await create(spine);
    const claimW = () => spine.engine.leases.claimNext(W, { targets: [job.target], max: 1, waitMs: 0 });
    const [first] = await claimW();
    assert.ok(first);
    assert.deepEqual(
      first.messages?.map(({ body }) => body),
      ['hello'],
    );
    const { question } = await ask(spine, first.job);
    await spine.engine.questions.answer(HEAD, question?.id ?? '', 'this');
    const [again] = await claimW();
    assert.deepEqual([again?.job.id, again?.messages], [first.job.id, undefined]);
  });

  each('whoever does not hold the lease asks nothing', async (spine) => {
    const job = await claimed(spine, await create(spine));
    const by = (actor: typeof W, token: string | null) =>
      refusal(spine.engine.questions.ask(actor, job.id, token, WHICH));
    assert.equal(await by(worker('other'), null), 'not_owner');
    assert.equal(await by(worker('other'), 'x'.repeat(32)), 'lease_lost');
    assert.equal(await by(worker('far', ['elsewhere']), job.leaseToken), 'forbidden');
    assert.equal(await stateOf(spine, job), 'running');
    assert.deepEqual(await spine.engine.questions.list(HEAD, { limit: 10 }), []);
  });

  each('asking once more under the same lease gives the same question', async (spine) => {
    const { job, question } = await asking(spine);
    const again = await ask(spine, job, { question: 'Another?' });
    assert.deepEqual(again.accepted.repeated, { verb: 'ask', state: 'blocked' });
    assert.equal(again.question?.id, question.id);
    await spine.engine.questions.answer(HEAD, question.id, 'this');
    assert.equal((await ask(spine, job)).question?.answer, '"this"');
    assert.equal((await spine.engine.questions.list(HEAD, { limit: 10 })).length, 1);
    assert.equal((await read(spine, job)).questions, 1);
  });

  each('an answered job goes on before all others, whatever their priority', async (spine) => {
    const { job, question } = await asking(spine, { priority: -5 });
    await createMany(spine, 3, { priority: 1_000_000 });
    await spine.engine.questions.answer(HEAD, question.id, { pick: 'b' });
    const [next] = await claimNext(spine);
    assert.ok(next);
    assert.deepEqual([next.job.id, next.job.priority, next.job.attempts, next.job.fence], [job.id, -5, 1, 2]);
    assert.equal((await read(spine, job)).priority, -5);
    assert.deepEqual(await answersOf(spine, next.job), [['Which one?', '{"pick":"b"}', 'head']]);
  });

  each('200 questions use no attempt', async (spine) => {
    const job = await create(spine, { maxAttempts: 1 });
    for (let i = 0; i < 200; i++) {
      const held = await claimed(spine, job);
      assert.equal(held.attempts, 1);
      const { question } = await ask(spine, held, { question: `Question ${i}?` });
      await spine.engine.questions.answer(HEAD, question?.id ?? '', i);
    }
    const last = await claimed(spine, job);
    const answers = await answersOf(spine, last);
    assert.equal(answers.length, LIMITS.answersShown);
    assert.equal((await spine.engine.jobs.handedOn([last])).get(last.no)?.answersLeftOut, true);
    assert.deepEqual(answers.at(-1), ['Question 199?', '199', 'head']);
    await spine.engine.leases.complete(W, job.id, last.leaseToken, 'ok');
    assert.equal(await stateOf(spine, job), 'done');
  });

  each('a waiting job holds no slot of its pool', async (spine) => {
    const [first, second] = await createMany(spine, 2, { pool: 'gpu' });
    const held = await claimed(spine, first as Job);
    assert.equal((await claimNext(spine)).length, 0);
    const { question } = await ask(spine, held);
    const [next] = await claimNext(spine);
    assert.equal(next?.job.id, second?.id);
    // Its slot is somebody else's now: it waits at the front of the pool, and comes next.
    await spine.engine.questions.answer(HEAD, question?.id ?? '', 'yes');
    const third = await create(spine, { pool: 'gpu', priority: 9 });
    assert.equal((await claimNext(spine)).length, 0);
    await spine.engine.leases.complete(W, second?.id ?? '', next?.job.leaseToken ?? null, null);
    assert.equal((await claimNext(spine))[0]?.job.id, first?.id);
    assert.equal(await stateOf(spine, third), 'blocked');
  });

  each('a freed slot of a pool called answer wakes nobody who waits for an answer', async (spine) => {
    const { job } = await asking(spine, { pool: 'answer' });
    await finished(spine, await create(spine, { pool: 'answer' }));
    assert.equal(await stateOf(spine, job), 'blocked');
  });

  each('is answered once; the second hears who was first', async (spine) => {
    const { job, question } = await asking(spine, {}, { to: 'ada' });
    const ends = await Promise.allSettled([
      spine.engine.questions.answer(worker('ada'), question.id, 'one'),
      spine.engine.questions.answer(HEAD, question.id, 'two'),
    ]);
    const lost = ends.flatMap((end) => reasonOf(end) ?? []);
    assert.equal(lost.length, 1);
    const { answeredBy } = await spine.engine.questions.get(HEAD, question.id);
    assert.equal(lost[0]?.code, 'conflict');
    assert.equal(lost[0]?.details['answeredBy'], answeredBy);
    assert.ok(lost[0]?.details['answeredAt']);
    assert.equal((await eventKinds(spine, job)).filter((name) => name === 'job.answered').length, 1);
  });

  each('the same answer of the same caller is taken for a repetition, late too', async (spine) => {
    const { job, question } = await asking(spine);
    await spine.engine.questions.answer(HEAD, question.id, ['a']);
    await finished(spine, job);
    const again = await spine.engine.questions.answer(HEAD, question.id, ['a']);
    assert.equal(again.answer, '["a"]');
    assert.equal(await refusal(spine.engine.questions.answer(HEAD, question.id, ['b'])), 'conflict');
    assert.equal(await stateOf(spine, job), 'done');
  });

  each('only head answers for a person, and an agent for itself', async (spine) => {
    const { question } = await asking(spine, {}, { to: 'ada' });
    const by = (actor: typeof W) => refusal(spine.engine.questions.answer(actor, question.id, 1));
    assert.equal(await by(W), 'forbidden');
    assert.equal(await by({ name: 'ada', role: 'viewer', targets: null }), 'forbidden');
    assert.equal(await by(worker('bob', ['elsewhere'])), 'forbidden');
    const runOf = (onlyJob: string) => ({ name: 'ada', role: 'run', targets: null, onlyJob }) as const;
    assert.equal(await by(runOf(question.jobId)), 'forbidden');
    assert.equal(await by(runOf((await create(spine)).id)), 'forbidden');
    const answered = await spine.engine.questions.answer(worker('ada', ['elsewhere']), question.id, 1);
    assert.deepEqual([answered.answeredBy, answered.answer], ['ada', '1']);
  });

  each(
    'a run at a gateway answers for its agent what it was handed, never what its own work asked',
    async (spine) => {
      await spine.engine.agents.register(HEAD, { id: 'ops' });
      const turn = async (): Promise<Job> => {
        const made = await plan(spine, { session_target: 'isolated', payload_message: 'x', agent_id: 'ops' });
        await runNow(spine, made);
        return (await take(spine, ['gateway:main']))?.job ?? assert.fail('there is no run');
      };
      const { question } = await ask(spine, await turn(), { to: 'ops' });
      assert.ok(question);
      const [handed, other] = [await turn(), await turn()];
      const by = (onlyJob: string) => {
        const run = { name: 'gateway', role: 'run', targets: ['gateway:main'], onlyJob } as const;
        return spine.engine.questions.answer(run, question.id, 'yes');
      };
      const handTo = (jobNo: number) =>
        spine.engine.core.flusher.transact(HEAD, (tx, { now }) =>
          tx.receipts.handOut('ops', { jobNo, fence: 0 }, now, 10),
        );
      assert.equal((await handTo(question.jobNo)).length, 1);
      assert.equal(await refusal(by(question.jobId)), 'forbidden');
      await spine.engine.messages.promptTakenBack(question.jobNo);
      const mail = await spine.engine.messages.handToRun(W, handed.id, handed.leaseToken ?? '', 'ops');
      assert.deepEqual(
        mail.map(({ id }) => id),
        [question.id],
      );
      assert.equal(await refusal(by(other.id)), 'forbidden');
      assert.equal((await by(handed.id)).answeredBy, 'ops');
    },
  );

  each('takes only the answers that were asked for', async (spine) => {
    const { question } = await asking(spine, {}, { choices: ['yes', 'no'] });
    const no = await refused(spine.engine.questions.answer(HEAD, question.id, 'maybe'));
    assert.deepEqual([no.code, no.details['field']], ['bad_request', 'answer']);
    await spine.engine.questions.answer(HEAD, question.id, 'yes');
    const schema = { type: 'object', required: ['day'], properties: { day: { type: 'string' } } };
    const other = await asking(spine, {}, { schema });
    const unfit = await refused(spine.engine.questions.answer(HEAD, other.question.id, { day: 1 }));
    assert.deepEqual([unfit.code, unfit.details['field']], ['bad_request', 'answer']);
    const large = 'x'.repeat(LIMITS.questionAnswerBytes);
    assert.equal(await refusal(spine.engine.questions.answer(HEAD, other.question.id, large)), 'bad_request');
    await spine.engine.questions.answer(HEAD, other.question.id, { day: 'monday' });
  });

  each('refuses a question that nobody could answer, and changes nothing', async (spine) => {
    const job = await claimed(spine, await create(spine));
    const field = async (asked: Partial<Asking>) => (await refused(ask(spine, job, asked))).details['field'];
    assert.equal(await field({ schema: { type: 'nonsense' } }), 'schema');
    assert.equal(await field({ choices: ['a'], default: 'b' }), 'default');
    assert.equal(await field({ schema: { type: 'string' }, default: 1 }), 'default');
    assert.equal(await field({ to: '@nobody' }), 'to');
    assert.equal(await stateOf(spine, job), 'running');
  });

  each('the default answers when nobody does in time', async (spine) => {
    const { job, question } = await asking(spine, {}, { choices: ['yes', 'no'], default: 'no' });
    await runTimers(spine);
    assert.equal(await stateOf(spine, job), 'blocked');
    await spine.clock.advance(MINUTE_MS);
    await runTimers(spine);
    const ended = await spine.engine.questions.get(HEAD, question.id);
    assert.deepEqual([ended.status, ended.answer, ended.answeredBy], ['answered', '"no"', 'timeout']);
    assert.equal(await refusal(spine.engine.questions.answer(HEAD, question.id, 'yes')), 'conflict');
    const [next] = await claimNext(spine);
    assert.ok(next);
    assert.equal(next.job.attempts, 1);
    assert.deepEqual(await answersOf(spine, next.job), [['Which one?', '"no"', 'timeout']]);
  });

  each('without a default the attempt that asked in vain has failed', async (spine) => {
    const { job, question } = await asking(spine, { maxAttempts: 2 });
    await spine.clock.advance(MINUTE_MS);
    await runTimers(spine);
    assert.equal((await spine.engine.questions.get(HEAD, question.id)).status, 'timed_out');
    const back = await read(spine, job);
    assert.deepEqual([back.state, back.attempts, back.question], ['queued', 1, null]);
    const held = await claimed(spine, job);
    assert.equal(held.attempts, 2);
    await ask(spine, held);
    await spine.clock.advance(MINUTE_MS);
    await runTimers(spine);
    const dead = await read(spine, job);
    assert.deepEqual([dead.state, dead.attempts, dead.cause], ['dead', 2, 'timeout']);
  });

  each('the time to answer and the answer itself meet once', async (spine) => {
    const { job, question } = await asking(spine, {}, { default: 'late' });
    await spine.clock.advance(MINUTE_MS);
    const [, word] = await Promise.allSettled([
      runTimers(spine),
      spine.engine.questions.answer(HEAD, question.id, 'early'),
    ]);
    const { answer } = await spine.engine.questions.get(HEAD, question.id);
    assert.equal(answer, word?.status === 'fulfilled' ? '"early"' : '"late"');
    assert.equal((await eventKinds(spine, job)).filter((name) => name === 'job.answered').length, 1);
  });

  each('cancelling a waiting job closes its question', async (spine) => {
    const { job, question } = await asking(spine);
    await spine.engine.jobs.cancel(HEAD, job.id, 'not needed');
    assert.equal((await spine.engine.questions.get(HEAD, question.id)).status, 'closed');
    assert.equal(await refusal(spine.engine.questions.answer(HEAD, question.id, 'x')), 'conflict');
    await spine.clock.advance(MINUTE_MS);
    await runTimers(spine);
    assert.equal(await stateOf(spine, job), 'cancelled');
    await spine.engine.jobs.retry(HEAD, job.id);
    const again = await read(spine, job);
    assert.deepEqual([again.state, again.question], ['queued', null]);
  });

  each('a job that is to stop does not ask', async (spine) => {
    const job = await claimed(spine, await create(spine));
    await spine.engine.jobs.cancel(HEAD, job.id, null);
    const { accepted, question } = await ask(spine, job);
    assert.deepEqual([accepted.job.state, question], ['cancelled', null]);
  });

  each('dependents go on waiting while a job waits for an answer', async (spine) => {
    const { job, question } = await asking(spine);
    const later = await create(spine, { after: [{ job: job.id }] });
    await settleAll(spine);
    assert.equal(await stateOf(spine, later), 'blocked');
    await spine.engine.questions.answer(HEAD, question.id, 1);
    await finished(spine, job);
    await settleAll(spine);
    assert.equal(await stateOf(spine, later), 'queued');
  });

  each('a retry of a lineage knows the answers and the checkpoint', async (spine) => {
    const lineage = { retry: { mode: 'lineage', max: 2 } } as const;
    const { job, question } = await asking(spine, lineage);
    await spine.engine.questions.answer(HEAD, question.id, 'blue');
    const held = await claimed(spine, job);
    await spine.engine.leases.checkpoint(W, job.id, held.leaseToken, { step: 2 });
    await spine.engine.leases.fail(W, job.id, held.leaseToken, 'broken', true);
    await settleAll(spine);
    const [retry] = await claimNext(spine);
    assert.ok(retry && retry.job.id !== job.id);
    assert.deepEqual(await answersOf(spine, retry.job), [['Which one?', '"blue"', 'head']]);
    assert.equal((await spine.engine.jobs.handedOn([retry.job])).get(retry.job.no)?.checkpoint, '{"step":2}');
  });

  each(
    'a checkpoint outlives release, expiry, failure and questions, and the last one counts',
    async (spine) => {
      const checkpointOf = async (job: Job) =>
        (await spine.engine.jobs.handedOn([job])).get(job.no)?.checkpoint ?? null;
      const job = await create(spine);
      let held = await claimed(spine, job);
      await spine.engine.leases.checkpoint(W, job.id, held.leaseToken, 'one');
      await spine.engine.leases.checkpoint(W, job.id, held.leaseToken, 'two');
      await spine.engine.leases.release(W, job.id, held.leaseToken, null);
      assert.equal(await checkpointOf((held = await claimed(spine, job))), '"two"');
      await spine.clock.advance(held.leaseMs + 1);
      await spine.engine.core.perform({ kind: 'expire', id: job.id, actor: HEAD });
      await failed(spine, job);
      held = await claimed(spine, job);
      const { question } = await ask(spine, held);
      await spine.engine.questions.answer(HEAD, question?.id ?? '', 'go on');
      assert.equal(await checkpointOf((held = await claimed(spine, job))), '"two"');
      const stale = spine.engine.leases.checkpoint(W, job.id, 'x'.repeat(32), 'three');
      assert.equal(await refusal(stale), 'lease_lost');
      const large = 'x'.repeat(LIMITS.checkpointBytes);
      assert.equal(
        await refusal(spine.engine.leases.checkpoint(W, job.id, held.leaseToken, large)),
        'bad_request',
      );
      await spine.engine.leases.complete(W, job.id, held.leaseToken, null);
      assert.equal((await read(spine, job)).checkpointAt, null);
      await spine.engine.jobs.retry(HEAD, job.id);
      assert.equal(await checkpointOf(await claimed(spine, job)), null);
    },
  );

  each('shows scoped tokens what concerns them', async (spine) => {
    const mine = await asking(spine, { target: 'any' }, { to: 'head' });
    const asked = await asking(spine, { target: 'b' }, { to: 'ada' });
    await asking(spine, { target: 'b' }, { to: 'head' });
    const seen = (actor: typeof W, filter = {}) =>
      spine.engine.questions
        .list(actor, { limit: 10, open: true, ...filter })
        .then((list) => list.map(({ id }) => id).toSorted());
    assert.deepEqual(await seen(worker('ada', ['any'])), [mine.question.id, asked.question.id].toSorted());
    assert.equal((await seen(HEAD)).length, 3);
    assert.deepEqual(await seen(HEAD, { to: 'ada' }), [asked.question.id]);
    assert.deepEqual(await seen(HEAD, { job: mine.job.id }), [mine.question.id]);
    assert.equal(
      await refusal(spine.engine.questions.get(worker('x', ['c']), mine.question.id)),
      'forbidden',
    );
  });

  each('tells the alias that is asked, and whoever wants to hear of questions', async (spine) => {
    await alias(spine, 'ops', '1');
    await alias(spine, 'boss', '2');
    await spine.engine.subscriptions.add(HEAD, { alias: 'boss', events: ['question'] });
    const { question } = await asking(spine, { title: 'Release' }, { to: '@ops', choices: ['yes', 'no'] });
    const told = await deliveries(spine);
    assert.deepEqual(
      told.map(({ kind, alias: to }) => [kind, to]),
      [
        ['question', 'ops'],
        ['question', 'boss'],
      ],
    );
    assert.equal(
      told[0]?.text,
      `❓ Job 'Release' asks:\nWhich one?\n\nOne of: yes, no\n\nAnswer: spine questions answer ${question.id} <answer>`,
    );
    // Who asks once more under the same lease tells nobody twice.
    const job = await claimed(spine, await create(spine));
    await ask(spine, job, { to: '@ops' });
    await ask(spine, job, { to: '@ops' });
    assert.equal((await deliveries(spine)).length, 4);
  });

  each('a question to a name goes where its schedule delivers', async (spine) => {
    await alias(spine);
    const made = await plan(spine, { delivery_to: '@ops', target: 'runs' });
    await runNow(spine, made);
    const [run] = await claimNext(spine, { targets: ['runs'] });
    assert.ok(run);
    await ask(spine, run.job, { to: 'ada' });
    assert.deepEqual(
      (await deliveries(spine)).map(({ kind, alias: to }) => [kind, to]),
      [['question', 'ops']],
    );
  });

  each('a job asks only so often', async (spine) => {
    const job = await claimed(spine, await create(spine));
    const after: Job = { ...job, questions: LIMITS.questionsPerJob };
    await spine.store.transaction(0, async (tx) => tx.jobs.update([{ before: job, after, kind: 'other' }]));
    assert.equal((await refused(ask(spine, job))).code, 'conflict');
    assert.equal(await stateOf(spine, job), 'running');
  });

  each('nobody is late while no server could be reached', async (spine) => {
    const { job } = await asking(spine, {}, { default: 'late' });
    await spine.clock.advance(MINUTE_MS);
    await timers(spine.engine.core, () => 1).runOnce();
    assert.equal(await stateOf(spine, job), 'blocked');
    const { nextInMs } = await timers(spine.engine.core, () => 0).runOnce();
    assert.equal(await stateOf(spine, job), 'queued');
    assert.equal(nextInMs, null);
  });

  each('whoever reopens a job after a claim in vain finds its own priority', async (spine) => {
    const { job, question } = await asking(spine, { priority: 4 });
    await spine.engine.questions.answer(HEAD, question.id, 1);
    await spine.engine.jobs.cancel(HEAD, job.id, null);
    await spine.engine.jobs.retry(HEAD, job.id);
    assert.equal((await read(spine, job)).priority, 4);
  });

  each('one principal has only so many open questions', async (spine) => {
    const drafts = Array.from({ length: LIMITS.openQuestions }, (_, i) => i);
    const jobs = await createMany(spine, drafts.length + 1);
    const held = await claimNext(spine, { max: jobs.length });
    const [last, ...others] = held.map(({ job }) => job);
    await Promise.all(others.map((job) => ask(spine, job)));
    assert.ok(last);
    const full = await refused(ask(spine, last));
    assert.deepEqual([full.code, full.details['limit']], ['rate_limited', LIMITS.openQuestions]);
    assert.equal(await stateOf(spine, last), 'running');
    const [open] = await spine.engine.questions.list(HEAD, { limit: 1, open: true });
    await spine.engine.questions.answer(HEAD, open?.id ?? '', 1);
    await ask(spine, last);
  });

  if (kind.dialect === 'postgres')
    each('an answer on one server wakes whoever waits at another', async (spine) => {
      const other = await spine.another?.({ clock: 'system' });
      assert.ok(other);
      await using _ = other;
      const { job, question } = await asking(spine);
      await other.engine.questions.answer(HEAD, question.id, 'yes');
      assert.equal((await claimNext(spine))[0]?.job.id, job.id);
    });
});
