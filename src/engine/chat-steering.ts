/** Pauses and decisions from a chat, by words or by buttons. */

import type { Press } from '../domain/button.ts';
import type { ChatCommand } from '../domain/chat-command.ts';
import type { Actor } from '../domain/command.ts';
import type { ApprovalRecord } from '../domain/approval.ts';
import { SpineError } from '../domain/error.ts';
import { BOT_DOOR } from '../domain/bot.ts';
import { decideApproval } from './approvals.ts';
import { typeNamed } from './chat-add.ts';
import { type Deed, saying } from './chat-deed.ts';
import type { Core } from './core.ts';
import { answerJson } from './question-drafts.ts';
import { answerQuestion } from './questions.ts';
import { routingChanged, setPaused } from './routing.ts';
import { answerBudget } from './spending.ts';

export async function pauseOrResume(
  core: Core,
  actor: Actor,
  { verb, type }: Extract<ChatCommand, { verb: 'pause' | 'resume' }>,
): Promise<Deed> {
  const paused = verb === 'pause';
  const name = type === null ? BOT_DOOR : typeNamed(await core.types(), type).name;
  const what = type === null ? 'The queue' : `The type ${name}`;
  return {
    within: async (tx, changeSet) => {
      await setPaused(tx, changeSet, actor, { kind: type === null ? 'door' : 'type', name, paused });
      const own = type === null ? ' A worker may still begin what is assigned to it.' : '';
      return {
        text: paused
          ? `${what} is paused: what runs goes on, nothing new is handed out.${own}`
          : `${what} goes on.`,
      };
    },
    after: () => routingChanged(core, paused),
  };
}

const APPROVALS_SHOWN = 8;

export async function decide(
  core: Core,
  actor: Actor,
  { verb, job, notes }: Extract<ChatCommand, { verb: 'approve' | 'reject' }>,
): Promise<Deed> {
  if (job !== null) return decided(actor, await approvalOf(core, job), verb === 'approve', notes);
  const waiting = await core.store.read.approvals.list({ status: 'pending', limit: APPROVALS_SHOWN });
  const [only] = waiting;
  if (only === undefined) return saying('Nothing waits for your word.');
  if (waiting.length === 1) return decided(actor, only, verb === 'approve', notes);
  const lines = waiting.map((each) => `#${each.jobNo} ${titleOf(each)}`);
  return saying(`Say which: /${verb} <number>\n${lines.join('\n')}`);
}

/** By a job's id or number. */
async function approvalOf(core: Core, which: string): Promise<ApprovalRecord> {
  const { read } = core.store;
  const job = /^\d{1,15}$/.test(which)
    ? (await read.jobs.byNo([Number(which)])).at(0)
    : await read.jobs.byId(which);
  const approval = job ? await read.approvals.asked(job.no) : null;
  if (approval === null)
    throw new SpineError('not_found', { id: which, problem: `No task "${which}" was ever up for approval.` });
  return approval;
}

function decided(actor: Actor, approval: ApprovalRecord, agree: boolean, notes: string | null): Deed {
  return {
    within: async (tx, changeSet) => {
      await decideApproval(tx, changeSet, actor, approval.jobNo, { agree, notes, by: actor.name });
      return { text: `${agree ? 'Approved' : 'Rejected'}: ${titleOf(approval)} (#${approval.jobNo})` };
    },
  };
}

export async function press(core: Core, actor: Actor, pressed: Press): Promise<Deed> {
  if ('typeNo' in pressed)
    return {
      within: async (tx, changeSet) => ({ text: await answerBudget(core, tx, changeSet, actor, pressed) }),
      after: () => routingChanged(core, false),
    };
  if (pressed.verb !== 'answer')
    return decided(actor, await approvalOf(core, pressed.job), pressed.verb === 'approve', null);
  const question = await core.store.read.questions.byId(pressed.question);
  const choice = question?.choices?.[pressed.choice];
  if (question === null || choice === undefined)
    throw new SpineError('not_found', { problem: 'This question is not there any more.' });
  const answer = await answerJson(core, actor, question, choice);
  return {
    within: async (tx, changeSet) => {
      await answerQuestion(tx, changeSet, question, answer, actor.name);
      return { text: `Answered: ${choice}` };
    },
  };
}

function titleOf({ title, jobNo }: ApprovalRecord): string {
  return title ?? `#${jobNo}`;
}
