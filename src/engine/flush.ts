/** One flush: many commands, decided one after another, written together. */

import type {
  Accepted,
  ClaimNext,
  ClaimNextAnswer,
  Command,
  Create,
  CreateAnswer,
  JobCommand,
} from '../domain/command.ts';
import { decide } from '../domain/decide.ts';
import { type Refusal, refuse } from '../domain/error.ts';
import { isFinal, type Job } from '../domain/job.ts';
import { needsSlots } from '../domain/pool.ts';
import type { Routing } from '../domain/routing.ts';
import type { MaybePromise, Tx } from '../store/store.ts';
import { ClaimBatch } from './claim-batch.ts';
import { CreationBatch } from './creation-batch.ts';
import { type Audience, type Effects, ChangeSet } from './change-set.ts';
import type { MailHint } from './mail-hint.ts';
import { carryMail } from './mail-round.ts';
import { metadataRoom } from './metadata-room.ts';
import { type LimitedFailure, mayWaitAgain, park, limitedFailure } from './provider-limits.ts';
import { fullPool, takeSlotsFor } from './slots.ts';

export type Answer = Accepted | Refusal | CreateAnswer | ClaimNextAnswer;

export interface FlushSettings {
  readonly now: number;
  readonly laneKey: string;
  readonly routing: Routing;
  readonly audience: Audience;
  readonly parking: Set<string>;
  /** Other lanes or servers work on the same store. */
  readonly shared: boolean;
  /** A token for a lease that begins. */
  readonly newToken: () => string;
  /** Some of the claims wait for the jobs that this flush makes. */
  readonly handsOver: boolean;
  /** For whom messages wait. */
  readonly mail: MailHint;
  /** Jobs whose rows others hold are taken for not found, instead of waiting for them. */
  readonly passesOver: boolean;
}

export interface Flushed {
  readonly answers: readonly Answer[];
  readonly effects: Effects;
}

/** Another server paused or resumed something: the flush must be decided again with what is true now. */
export class StaleRouting extends Error {}

export async function flush(tx: Tx, commands: readonly Command[], settings: FlushSettings): Promise<Flushed> {
  const changeSet = new ChangeSet(settings.now);
  const claimBatch = new ClaimBatch(tx, changeSet, settings);
  const readHeads = (): Promise<void> => claimBatch.readHeads(commands.filter(isClaimNext));
  // Looking for ready jobs early spares a round trip where there are any; those made here are found only later.
  const early = settings.shared && !settings.handsOver;
  await read(tx, changeSet, commands, settings, early ? readHeads : async () => undefined);

  const answers = Array.from<Answer>({ length: commands.length });
  // A flush may hold a thousand ends that each ask for more: looking for each among all would take a million steps.
  const places = new Map<Command, number>();
  const answerTo = (command: JobCommand): Answer | undefined => {
    if (places.size === 0) commands.forEach((each, i) => places.set(each, i));
    return answers[places.get(command) ?? -1];
  };
  const accepted = (command: JobCommand): boolean => answerTo(command)?.ok === true;
  const room = metadataRoom(tx, commands);
  let next = 0;
  for (const command of commands) {
    const i = next++;
    const tooMuch = room === null ? null : await room.refusal(command, changeSet);
    if (tooMuch !== null) {
      answers[i] = tooMuch;
      continue;
    }
    if (command.kind === 'create' || command.kind === 'claimNext') continue;
    if (command.kind === 'edit' && command.onlyIf !== null && !accepted(command.onlyIf)) {
      answers[i] = answerTo(command.onlyIf) ?? refuse('conflict');
      continue;
    }
    const answer = decideOne(tx, changeSet, command, settings.routing);
    // Most commands need nothing but their row: a wait for each of them would cost more than deciding it.
    answers[i] = answer instanceof Promise ? await answer : answer;
    if (command.kind === 'edit' && accepted(command)) room?.took(command, changeSet);
  }
  await answerGroup(commands, answers, isCreate, (group) => new CreationBatch(tx, changeSet).create(group));
  if (!early) await readHeads();
  await answerGroup(commands, answers, isClaimNext, (group) => claimBatch.serve(group, accepted));
  if (changeSet.limits.length > 0) await park(tx, changeSet, settings.audience.subscribers);
  await carryMail(tx, changeSet, commands, answers, settings.mail);
  await changeSet.save(tx, settings.laneKey, settings.audience);
  return { answers, effects: changeSet.effects };
}

/** Everything a flush looks at is asked for together: one round trip where the store has any. */
async function read(
  tx: Tx,
  changeSet: ChangeSet,
  commands: readonly Command[],
  { routing, passesOver }: FlushSettings,
  readHeads: () => Promise<void>,
): Promise<void> {
  const ids = idsOf(commands);
  const lock = passesOver ? tx.jobs.lockFree : tx.jobs.lock;
  const [named, revision] = await Promise.all([
    ids.length > 0 ? lock(ids) : [],
    commands.some(claims) ? tx.routing.revision() : routing.revision,
    readHeads(),
  ]);
  if (revision !== routing.revision) throw new StaleRouting();
  for (const job of named) changeSet.loadNamed(job);
}

/** Decides a command on a job that is loaded, with what its kind needs to look at. */
export function decideOne(
  tx: Tx,
  changeSet: ChangeSet,
  command: JobCommand,
  routing: Routing,
): MaybePromise<Accepted | Refusal> {
  const job = changeSet.find(command.id);
  if (job === null) return refuse('not_found', { id: command.id });
  if (command.kind === 'claim' && job.state === 'queued')
    return claimOne(tx, changeSet, command, job, routing);
  if ((command.kind === 'retry' || command.kind === 'redrive') && job.uniqueKey !== null)
    return reopenOne(tx, changeSet, command, job);
  const limited = limitedFailure(command, job, routing, changeSet.now);
  return limited === null
    ? decideNow(changeSet, command, job)
    : failAtLimit(tx, changeSet, command, limited, job);
}

async function failAtLimit(
  tx: Tx,
  changeSet: ChangeSet,
  command: JobCommand,
  limited: LimitedFailure,
  job: Job,
): Promise<Accepted | Refusal> {
  const waits = await mayWaitAgain(tx, job, limited.limit.provider);
  return decideNow(changeSet, waits ? limited : command, job);
}

function decideNow(changeSet: ChangeSet, command: JobCommand, job: Job): Accepted | Refusal {
  const decision = decide(job, command, changeSet.now);
  changeSet.apply(decision, command.actor);
  if (!decision.answer.ok || decision.answer.repeated !== undefined) return decision.answer;
  if ('usage' in command) changeSet.took(job, command.usage);
  if ('limit' in command) changeSet.limits.push(command.limit);
  return decision.answer;
}

async function claimOne(
  tx: Tx,
  changeSet: ChangeSet,
  command: JobCommand,
  job: Job,
  routing: Routing,
): Promise<Accepted | Refusal> {
  const refusal = await holdBack(tx, changeSet, job, routing);
  if (refusal !== null) return refusal;
  const answer = decideNow(changeSet, command, job);
  if (answer.ok && needsSlots(job) && !changeSet.wasRunning(job)) await takeSlotsFor(tx, job);
  return answer;
}

async function reopenOne(
  tx: Tx,
  changeSet: ChangeSet,
  command: JobCommand,
  job: Job,
): Promise<Accepted | Refusal> {
  const jobId = job.uniqueKey === null ? null : await tx.jobs.findUnique(job.typeNo, job.uniqueKey);
  if (isFinal(job.state) && jobId !== null)
    return refuse('unique_key_taken', { jobId, uniqueKey: job.uniqueKey });
  return decideNow(changeSet, command, job);
}

/** What keeps a ready job from being claimed by its id: a pause, or a full pool. */
async function holdBack(tx: Tx, changeSet: ChangeSet, job: Job, routing: Routing): Promise<Refusal | null> {
  if (routing.pausedTargets.has(job.target)) return refuse('paused', { target: job.target });
  if (routing.pausedTypes.has(job.typeNo)) return refuse('paused', { type: job.typeNo });
  if (!needsSlots(job) || changeSet.wasRunning(job)) return null;
  const pool = await fullPool(tx, job);
  return pool === null ? null : refuse('pool_full', { pool });
}

/** Decides all commands of one kind together and puts their answers in place. */
async function answerGroup<C extends Command>(
  commands: readonly Command[],
  answers: Answer[],
  isOfGroup: (command: Command) => command is C,
  decideGroup: (group: readonly C[]) => Promise<readonly Answer[]>,
): Promise<void> {
  const group = commands.filter(isOfGroup);
  if (group.length === 0) return;
  const decided = await decideGroup(group);
  let next = 0;
  commands.forEach((command, i) => {
    if (isOfGroup(command)) answers[i] = decided[next++] as Answer;
  });
}

function isCreate(command: Command): command is Create {
  return command.kind === 'create';
}

function isClaimNext(command: Command): command is ClaimNext {
  return command.kind === 'claimNext';
}

function claims(command: Command): boolean {
  return command.kind === 'claim' || command.kind === 'claimNext';
}

/** Every job the commands name, once: all of them are locked together, in the order of their numbers. */
function idsOf(commands: readonly Command[]): string[] {
  const ids = new Set<string>();
  for (const command of commands) {
    if (command.kind === 'claimNext') continue;
    if (command.kind !== 'create') {
      ids.add(command.id);
      continue;
    }
    for (const job of command.jobs) {
      if (job.parentId !== null) ids.add(job.parentId);
      for (const dependency of job.after) ids.add(dependency.id);
    }
  }
  return [...ids];
}
