/** How many questions may wait for their answers, and what happens to work of this server that finds no room for one. */

import type { Accepted, Actor, Ask } from '../domain/command.ts';
import { decide } from '../domain/decide.ts';
import { SpineError } from '../domain/error.ts';
import type { Job } from '../domain/job.ts';
import { LIMITS } from '../domain/limits.ts';
import { aliasAsked, type Asker, hasAskedInVain, NO_ROOM, type QuestionDraft } from '../domain/question.ts';
import { NOTHING_SENT } from '../domain/run.ts';
import type { Tx } from '../store/store.ts';
import { accepted, type Core } from './core.ts';

/** People answer, and that takes them a while. */
const FULL_S = 300;

export async function checkRoom(tx: Tx, actor: Actor, job: Job, question: QuestionDraft): Promise<void> {
  if (job.questions >= LIMITS.questionsPerJob) {
    const problem = `A job asks at most ${LIMITS.questionsPerJob} questions.`;
    throw new SpineError('conflict', { problem, limit: LIMITS.questionsPerJob });
  }
  const asker = askerOf(actor, job);
  if (asker === null) return;
  await checkOpen(tx, asker, LIMITS.openQuestions);
  if (aliasAsked(question) !== null)
    await checkOpen(tx, { ...asker, to: question.to }, LIMITS.openQuestionsPerAlias);
}

async function checkOpen(tx: Tx, asker: Asker, limit: number): Promise<void> {
  if ((await tx.questions.countOpenOf(asker, limit)) < limit) return;
  const { name, to } = asker;
  const problem = `${name} has ${limit} questions${to === undefined ? '' : ` to ${to}`} that nobody has answered.`;
  throw new SpineError('rate_limited', { problem, limit, retryAfterS: FULL_S });
}

/**
 * The workers inside the server ask for whatever they do: each schedule has a room of its own there. Work without one has
 * no more than one open question.
 */
function askerOf({ name, builtIn }: Actor, { scheduleId }: Job): Asker | null {
  if (!builtIn) return { name, scheduleId: null };
  return scheduleId === null ? null : { name: `The schedule ${scheduleId}`, scheduleId };
}

/** There may be room later: it is not worth holding a slot for. */
export function mayAskLater(error: unknown): error is SpineError {
  return error instanceof SpineError && (error.code === 'rate_limited' || error.code === 'mailbox_full');
}

/** The job asks once more after a while. That was no attempt, and what was sent has come back with the question. */
export async function askLater(
  core: Core,
  held: Omit<Ask, 'kind' | 'question'>,
  question: QuestionDraft,
  { message, details }: SpineError,
): Promise<Accepted> {
  const { id, actor } = held;
  const why = typeof details['problem'] === 'string' ? details['problem'] : message;
  await checkPatience(core, id, question, why);
  const answer = await core.flusher.transact(actor, async (tx, changeSet) => {
    const [found] = await tx.jobs.lock([id]);
    if (found === undefined) return { ok: false, code: 'not_found', details: { id } } as const;
    const job = changeSet.load(found);
    const untilAt = changeSet.now + FULL_S * 1_000;
    const decision = decide(job, { kind: 'snooze', ...held, untilAt }, changeSet.now);
    if (!decision.answer.ok) return decision.answer;
    const events = decision.events.map((event) => ({ ...event, facts: { ...event.facts, why: NO_ROOM } }));
    const line = { text: `Put off: it could not ask. ${why}`, level: 'info', at: changeSet.now } as const;
    const note = job.scheduleId === null ? {} : { note: NOTHING_SENT };
    changeSet.apply({ ...decision, events, writes: { ...decision.writes, logs: [line], ...note } }, actor);
    return decision.answer;
  });
  return accepted(answer);
}

/** How far back to look for what was put off: a turn in between has few events of its own. */
const LAST_EVENTS = 200;

/** What comes back again and again does its work anew each time; in the end it fails, and says why. */
async function checkPatience(core: Core, id: string, question: QuestionDraft, why: string): Promise<void> {
  const { jobs, feed } = core.store.read;
  const job = await jobs.byId(id);
  if (job === null) return;
  const events = await feed.ofJob(job.no, Math.max(0, job.seq - LAST_EVENTS), LAST_EVENTS);
  if (!hasAskedInVain(events, question, core.now())) return;
  throw new SpineError('conflict', { problem: `It found no room for its question again and again. ${why}` });
}
