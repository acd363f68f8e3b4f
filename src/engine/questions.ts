/** Questions of running jobs: asked by their holders, answered once, by whoever may. */

import { loopActor } from '../domain/actor.ts';
import type { Accepted, Actor, Ask } from '../domain/command.ts';
import { decide } from '../domain/decide.ts';
import { SpineError } from '../domain/error.ts';
import type { Job } from '../domain/job.ts';
import { mayTouch } from '../domain/lease.ts';
import {
  aliasAsked,
  goesOn,
  type Question,
  type QuestionDraft,
  type QuestionRecord,
  TIMEOUT,
  unanswered,
} from '../domain/question.ts';
import type { Tx } from '../store/store.ts';
import { answerJson, draftOf } from './question-drafts.ts';
import type { ChangeSet } from './change-set.ts';
import { accepted, type Core } from './core.ts';
import type { Questions } from './engine.ts';
import { agentAtGateway } from './message-rights.ts';
import { hearOf } from './mail-round.ts';
import { askLater, checkRoom, mayAskLater } from './question-room.ts';
import { askedAs } from './question-rights.ts';
import { mailQuestion } from './question-mail.ts';

export function questionsOf(core: Core): Questions {
  const { read } = core.store;
  const find = async (actor: Actor, id: string): Promise<QuestionRecord> => {
    const question = await read.questions.byId(id);
    if (question === null) throw new SpineError('not_found', { id });
    if (mayTouch(actor, { id: question.jobId, target: question.target })) return question;
    if ((await askedAs(core, actor, question)) !== null) return question;
    throw new SpineError('forbidden', { target: question.target });
  };
  return {
    ask: async (actor, id, leaseToken, asked, received) => {
      const draft = await draftOf(core, actor, asked);
      const held = { actor, id, leaseToken, ...(received && { received }) };
      const done = await ask(core, held, draft).catch((error: unknown) => {
        if (actor.builtIn && mayAskLater(error)) return askLater(core, held, draft, error);
        throw error;
      });
      const question =
        done.repeated === undefined
          ? await read.questions.byId(draft.id)
          : await read.questions.ofLease(done.job.no, leaseToken ?? '');
      return { accepted: done, question };
    },
    answer: async (actor, id, value) => {
      const question = await find(actor, id);
      // Head speaks for every person.
      const by = actor.role === 'head' ? actor.name : await askedAs(core, actor, question);
      if (by === null) throw new SpineError('forbidden', { to: question.to });
      const answer = await answerJson(core, actor, question, value);
      await core.flusher.transact(actor, (tx, changeSet) =>
        answerQuestion(tx, changeSet, question, answer, by),
      );
      return find(actor, id);
    },
    get: find,
    list: async ({ targets, name }, { job, ...filter }) => {
      const jobNo = job === undefined ? undefined : ((await read.jobs.byId(job))?.no ?? 0);
      return read.questions.list({ ...filter, ...(jobNo !== undefined && { jobNo }), targets, reader: name });
    },
  };
}

/** The time is up: the default counts, or the attempt that asked has failed. Somebody may be faster, on any server. */
export async function timeOutQuestion(core: Core, id: string): Promise<void> {
  const question = await core.store.read.questions.byId(id);
  if (question === null) return;
  await core.flusher.transact(loopActor(TIMEOUT), async (tx, changeSet) => {
    const { job, current } = await lock(tx, changeSet, question);
    if (current.status !== 'open' || current.expiresAt > changeSet.now) return;
    if (current.fallback === null) await giveUp(tx, changeSet, job, current);
    else await giveAnswer(tx, changeSet, job, current, current.fallback, TIMEOUT);
  });
}

async function ask(
  core: Core,
  held: Omit<Ask, 'kind' | 'question'>,
  question: QuestionDraft,
): Promise<Accepted> {
  const { id, actor } = held;
  let told: readonly string[] = [];
  const answer = await core.flusher.transact(actor, async (tx, changeSet) => {
    const [found] = await tx.jobs.lock([id]);
    if (found === undefined) return { ok: false, code: 'not_found', details: { id } } as const;
    const job = changeSet.load(found);
    const decision = decide(job, { kind: 'ask', ...held, question }, changeSet.now);
    // What is refused, or repeated, needs no room.
    if (decision.writes?.question !== undefined) {
      await checkAlias(tx, question);
      await checkRoom(tx, actor, job, question);
    }
    changeSet.apply(decision, actor);
    if (decision.writes?.question === undefined) return decision.answer;
    await hearOf(tx, changeSet, actor, job, held.received ?? null);
    // At a gateway the agent asks, and not the worker that sent it there.
    const sender = (await agentAtGateway(tx, job)) ?? actor.name;
    told = await mailQuestion(tx, { sender, job, now: changeSet.now }, question);
    return decision.answer;
  });
  core.mail.add(told);
  return accepted(answer);
}

async function checkAlias(tx: Tx, question: QuestionDraft): Promise<void> {
  const alias = aliasAsked(question);
  if (alias === null || (await tx.aliases.byName(alias)) !== null) return;
  throw new SpineError('bad_request', { field: 'to', problem: `there is no alias ${question.to}` });
}

/** The job first, here and everywhere: two who lock both never wait for each other. */
async function lock(
  tx: Tx,
  changeSet: ChangeSet,
  { id, jobNo }: Question,
): Promise<{ job: Job; current: Question }> {
  const [found] = await tx.jobs.lockByNo([jobNo]);
  const current = await tx.questions.lock(id);
  // Retention removed both since it was looked up.
  if (found === undefined || current === null) throw new SpineError('not_found', { id });
  return { job: changeSet.load(found), current };
}

/** Within a transaction. */
export async function answerQuestion(
  tx: Tx,
  changeSet: ChangeSet,
  question: Question,
  answer: string,
  by: string,
): Promise<void> {
  const { job, current } = await lock(tx, changeSet, question);
  if (current.status === 'open') return giveAnswer(tx, changeSet, job, current, answer, by);
  // Whoever did not hear that its answer was taken sends it again.
  if (current.status === 'answered' && current.answeredBy === by && current.answer === answer) return;
  throw new SpineError('conflict', {
    problem: endedAlready(current),
    status: current.status,
    answeredBy: current.answeredBy,
    answeredAt: current.answeredAt === null ? null : new Date(current.answeredAt).toISOString(),
  });
}

function endedAlready({ status, answeredBy }: Question): string {
  if (status === 'answered') return `It was answered already, by ${answeredBy}.`;
  return status === 'closed' ? 'Its job ended before anybody answered.' : 'Nobody answered it in time.';
}

async function giveAnswer(
  tx: Tx,
  changeSet: ChangeSet,
  job: Job,
  { id }: Question,
  answer: string,
  by: string,
): Promise<void> {
  await tx.questions.end(
    id,
    { status: 'answered', answer, answeredBy: by, answeredAt: changeSet.now },
    changeSet.now,
  );
  const next = goesOn(job, changeSet.now);
  const facts = { question: id, answer: JSON.parse(answer) as unknown, state: next.state };
  changeSet.amend(next, [{ kind: 'job.answered', by, facts }]);
}

async function giveUp(tx: Tx, changeSet: ChangeSet, job: Job, question: Question): Promise<void> {
  const none = { answer: null, answeredBy: null, answeredAt: null };
  await tx.questions.end(question.id, { status: 'timed_out', ...none }, changeSet.now);
  const { job: next, events, error } = unanswered(job, question, changeSet.now);
  const outcome = { result: null, error };
  const decision = { job: next, events, answer: { ok: true, job: next }, writes: { outcome } } as const;
  changeSet.apply(decision, loopActor(TIMEOUT));
}
