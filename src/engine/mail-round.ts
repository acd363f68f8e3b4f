/**
 * Messages that go with the answers of one flush, and those that its calls show to have arrived. A job's own row says whether
 * messages are on their way under its lease, and the hint whether any wait for a caller: without either nothing is asked.
 */

import type { Accepted, Actor, ClaimNextAnswer, Command, JobCommand } from '../domain/command.ts';
import type { Job } from '../domain/job.ts';
import { LIMITS } from '../domain/limits.ts';
import type { Tx } from '../store/store.ts';
import type { ChangeSet } from './change-set.ts';
import type { Answer } from './flush.ts';
import type { MailHint } from './mail-hint.ts';

/** A call of the holder under its lease, and what the lease was when it was made. */
interface Heard {
  readonly job: Job;
  readonly received: readonly string[] | null;
}

/** An answer that can carry messages: it goes to an agent, with a job of which that agent has the lease. */
interface Carrying {
  readonly at: number;
  readonly agent: string;
  readonly job: Job;
}

/** Hands out what waits, and takes note of what has arrived, in the same transaction as the commands themselves. */
export async function carryMail(
  tx: Tx,
  changeSet: ChangeSet,
  commands: readonly Command[],
  answers: Answer[],
  hint: MailHint,
): Promise<void> {
  const heard: Heard[] = [];
  const carrying: Carrying[] = [];
  let at = 0;
  for (const command of commands) {
    const i = at++;
    const answer = answers[i];
    if (answer === undefined || !answer.ok) continue;
    const job = jobIn(answer);
    if (job === null) continue;
    const agent = agentOf(command.actor);
    if (agent === null) {
      if (job.mailed && endsTurnWell(command)) heard.push({ job, received: null });
      continue;
    }
    // A worker whose call is accepted is the holder.
    if (job.mailed && isArrival(command)) heard.push({ job, received: command.received ?? null });
    if (mayCarry(command) && (job.mailed || hint.has(agent)) && isHeld(changeSet, job))
      carrying.push({ at: i, agent, job });
  }
  if (heard.length === 0 && carrying.length === 0) return;
  for (const each of heard) await arrive(tx, changeSet, each);
  const told = hint.told;
  for (const each of oneForEach(carrying)) await handOut(tx, changeSet, answers, each, hint, told);
}

/** The same for a call that has a transaction of its own, after it was decided. */
export async function hearOf(
  tx: Tx,
  changeSet: ChangeSet,
  actor: Actor,
  job: Job,
  received: readonly string[] | null,
): Promise<void> {
  if (job.mailed && agentOf(actor) !== null) await arrive(tx, changeSet, { job, received });
}

/** A worker is one itself. At a gateway it is the agent that calls with its run's token, and not the worker that sent it there. */
function agentOf({ name, role, builtIn, agent }: Actor): string | null {
  if (role === 'worker') return builtIn ? null : name;
  return agent ?? null;
}

/** What an agent heard in the middle of its turn has come when the turn has: it calls no more itself. */
function endsTurnWell({ kind, actor }: Command): boolean {
  return kind === 'complete' && actor.builtIn === true;
}

function jobIn(answer: Answer): Job | null {
  if (!answer.ok) return null;
  // Whoever repeats the end of a lease says nothing of the lease that there is now.
  if ('job' in answer) return answer.repeated === undefined ? answer.job : null;
  // A batch of claims carries all of its messages with the first job.
  return 'more' in answer ? (answer.jobs[0]?.job ?? null) : null;
}

const ENDS = ['complete', 'fail', 'release', 'snooze'];

/** The caller has the lease's token, so it has what came with the claim; of heartbeats it may say what has come. */
function isArrival(command: Command): command is Extract<JobCommand, { received?: readonly string[] }> {
  if (command.kind === 'release') return command.unanswered !== true;
  return command.kind === 'heartbeat' || ENDS.includes(command.kind);
}

/** Only what comes to the eyes of the holder: a door that shows no messages must not take any along. */
function mayCarry(command: Command): boolean {
  if (command.kind === 'claim') return command.byAnother !== true;
  return command.kind === 'heartbeat' || command.kind === 'claimNext';
}

/** A task may be taken and ended in one call: nothing is on its way under a lease that is over. */
function isHeld(changeSet: ChangeSet, { no, fence }: Job): boolean {
  const job = changeSet.known(no);
  return job === null || (job.fence === fence && job.state === 'running');
}

/** What was handed out under this lease has come. */
async function arrive(tx: Tx, changeSet: ChangeSet, { job, received }: Heard): Promise<void> {
  await tx.receipts.arrived({ jobNo: job.no, fence: job.fence }, received, changeSet.now);
  setMailed(changeSet, job, false);
}

/** The row as it is decided to be by now: another command of this flush may have changed it since. */
function setMailed(changeSet: ChangeSet, { no, fence }: Job, mailed: boolean): void {
  const job = changeSet.known(no);
  if (job !== null && job.fence === fence && job.mailed !== mailed) changeSet.amend({ ...job, mailed });
}

/** Two jobs of one agent share its messages: the first gets them, in their order. */
function oneForEach(carrying: readonly Carrying[]): Carrying[] {
  const byAgent = new Map<string, Carrying>();
  for (const each of carrying) {
    const other = byAgent.get(each.agent);
    // Whoever repeats a claim gets again what went with it.
    if (other === undefined || (each.job.mailed && !other.job.mailed)) byAgent.set(each.agent, each);
  }
  return [...byAgent.values()];
}

async function handOut(
  tx: Tx,
  changeSet: ChangeSet,
  answers: Answer[],
  { at, agent, job }: Carrying,
  hint: MailHint,
  told: number,
): Promise<void> {
  // A repeated claim only looks at its jobs, and the row has to say what is on its way now.
  if (changeSet.known(job.no) === null)
    for (const row of await tx.jobs.lockByNo([job.no])) changeSet.load(row);
  if (!isHeld(changeSet, job)) return;
  const carrier = { jobNo: job.no, fence: job.fence };
  const messages = await tx.receipts.handOut(agent, carrier, changeSet.now, LIMITS.messagesPerCall);
  if (messages.length === 0) return hint.nothingFor(agent, told);
  setMailed(changeSet, job, true);
  const answer = answers[at] as Accepted | ClaimNextAnswer;
  if ('job' in answer) answers[at] = { ...answer, messages };
  else {
    const [first, ...rest] = answer.jobs;
    if (first !== undefined) answers[at] = { ...answer, jobs: [{ ...first, messages }, ...rest] };
  }
}
