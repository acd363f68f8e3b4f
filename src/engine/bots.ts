/** Bots at work: they take the next job, move it by its status, and say what came of it. */

import type { Actor, JobCommand } from '../domain/command.ts';
import { BOT_DOOR, type BotStep, botSteps, failureOf, UNASSIGNED, withRetryCounted } from '../domain/bot.ts';
import { SpineError } from '../domain/error.ts';
import type { Job } from '../domain/job.ts';
import { LIMITS } from '../domain/limits.ts';
import { BOT_STATUS_OF } from '../domain/statuses.ts';
import { removeJob, rewordingOf } from './bot-changes.ts';
import { BotRoom } from './bot-room.ts';
import { cancelBelowFirst } from './cancelling.ts';
import { lastWord } from './consulting.ts';
import { accepted, type Core } from './core.ts';
import { storedFilter } from './jobs.ts';
import type { BotLoad, BotMove, Bots, Leases } from './engine.ts';

/** A bot only has to be heard from. */
const LEASE = { policy: 'presence' } as const;

export function botsOf(core: Core, leases: Leases): Bots {
  const { read } = core.store;
  const room = new BotRoom(core);
  return {
    actor: ({ name }) => ({ name, role: 'worker', targets: [UNASSIGNED, name] }),
    onlineMs: core.workers.onlineMs,
    claim: (actor) => {
      const options = { targets: [UNASSIGNED], door: BOT_DOOR, max: 1, waitMs: 0, ...LEASE };
      return room.within(actor.name, async () => (await leases.claimNext(actor, options)).at(0) ?? null);
    },
    move: async (actor, job, move) => performed(core, job, await commandsOf(core, actor, job, move)),
    change: async (actor, job, said, move) => {
      const asked = await rewordingOf(core, actor, job, said);
      const edits: JobCommand[] =
        Object.keys(asked).length === 0 ? [] : [{ kind: 'reword', id: job.id, actor, asked }];
      const moves = move === null ? [] : await commandsOf(core, actor, job, move);
      // What is held by nobody can be given to somebody: whatever frees it comes first.
      const frees = move?.status === 'pending';
      return performed(core, job, frees ? [...moves, ...edits] : [...edits, ...moves]);
    },
    remove: async (actor, id) => removeJob(core, actor, id),
    existing: async (ids) => new Set(ids.length === 0 ? [] : await read.bots.existing(ids)),
    report: async (actor, id, result) =>
      accepted(
        await core.flusher.submit({
          kind: 'report',
          actor,
          id,
          leaseToken: null,
          result: JSON.stringify(result),
        }),
      ).job,
    ranked: async (actor, filter, most) => read.bots.ranked(await storedFilter(core, actor, filter), most),
    held: async (name, filter, most) => read.bots.held(name, filter, most),
    numbered: async (nos) => {
      const jobs = new Map((await read.jobs.byNo(nos)).map((job) => [job.no, job]));
      return nos.flatMap((no) => jobs.get(no) ?? []);
    },
    loads: async (since) => {
      const [held, done, running, counts] = await Promise.all([
        read.bots.heldCounts(),
        read.bots.doneSince(since),
        read.bots.running(),
        read.counters.all(),
      ]);
      const waiting = Map.groupBy(
        counts.filter(({ state }) => BOT_STATUS_OF[state] === 'pending'),
        ({ target }) => target,
      );
      return (name): BotLoad => ({
        tasks: (held.get(name) ?? 0) + (waiting.get(name) ?? []).reduce((sum, { n }) => sum + n, 0),
        completed: done.get(name) ?? 0,
        current: running.get(name) ?? null,
      });
    },
  };
}

async function performed(core: Core, job: Job, commands: readonly JobCommand[]): Promise<Job> {
  if (commands.length === 0) return job;
  await cancelBelowFirst(core, job, commands);
  return core.performTogether(commands);
}

async function commandsOf(core: Core, actor: Actor, job: Job, move: BotMove): Promise<JobCommand[]> {
  const steps = botSteps(move.status, job.state, actor.role === 'head');
  if (steps === null) throw ended(job, move);
  // What nobody has begun cannot have failed under anybody: it is not wanted any more.
  if (move.status === 'failed' && move.bot === null && steps[0] === 'claim')
    return [{ kind: 'cancel', id: job.id, actor, reason: null }];
  const commands: JobCommand[] = [];
  for (const step of steps) commands.push(await commandOf(core, step, actor, job, move));
  const last = commands.at(-1) ?? null;
  if (move.countsRetry && last !== null) {
    const { meta } = await core.store.read.jobs.inputOf(job.no);
    const metadata = withRetryCounted(job, meta);
    commands.push({ kind: 'edit', id: job.id, actor, metadata, review: null, note: null, onlyIf: last });
  }
  return commands;
}

async function commandOf(
  core: Core,
  step: BotStep,
  actor: Actor,
  job: Job,
  { bot, status }: BotMove,
): Promise<JobCommand> {
  const on = { id: job.id, actor, leaseToken: null };
  switch (step) {
    case 'claim': {
      if (bot === null) throw nobody();
      const { runningMs: leaseMs, limitMs } = core.stuck;
      const terms = { ...LEASE, leaseMs, limitMs, claimId: null, capabilities: [] };
      const offer = { ...terms, token: core.ids.leaseToken() };
      return {
        kind: 'claim',
        id: job.id,
        actor: bot,
        offer,
        ...(actor.role === 'head' && { byAnother: true }),
      };
    }
    case 'complete':
      return { kind: 'complete', ...on, result: null, keepsResult: true };
    case 'fail': {
      const reason = await reasonOf(core, job);
      const error = reason === null ? null : JSON.stringify(reason);
      return { kind: 'fail', ...on, error, requeue: true, cause: null, spread: null, keepsResult: true };
    }
    case 'release':
      return { kind: 'release', ...on, reason: null };
    case 'retry':
      return { kind: 'retry', ...on, ...(endsIt(status) && { keepsResult: true }) };
  }
}

/** An admin who says how a task has really ended takes nothing from what came of it. */
function endsIt(status: BotMove['status']): boolean {
  return status === 'completed' || status === 'failed';
}

async function reasonOf({ store: { read } }: Core, job: Job): Promise<string | null> {
  const [outcomes, said] = await Promise.all([read.details.outcomes([job.no]), lastWord(read.comments, job)]);
  const reason = failureOf(outcomes.get(job.no)?.result ?? null, said);
  return reason === null ? null : reason.slice(0, LIMITS.errorChars);
}

function ended(job: Job, { status }: BotMove): SpineError {
  const problem = `This task is ${BOT_STATUS_OF[job.state]}; it cannot be set to ${status}.`;
  return new SpineError('conflict', { problem });
}

function nobody(): SpineError {
  const problem = 'assigned_to must say which worker does it.';
  return new SpineError('bad_request', { field: 'assigned_to', problem });
}
