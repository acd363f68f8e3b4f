/** The notes of a run, kept by the engine beside its job. */

import { PutOff } from '../client/errors.ts';
import type { ClaimedJob } from '../client/types.ts';
import type { Actor } from '../domain/command.ts';
import type { Job } from '../domain/job.ts';
import type { PriorRun, RunNote } from '../domain/run.ts';
import type { RunPlan } from '../domain/schedule.ts';
import type { OpenEngine } from '../engine/open-engine.ts';
import type { Begun, RunNotes } from '../worker/ports.ts';

/** How far back to look for an operator's hand: it comes shortly before the claim. */
const LAST_EVENTS = 200;

const PUT_OFF_MS = 5_000;

/** `url` is where agents and commands reach this server. */
export function embeddedNotes(engine: OpenEngine, actor: Actor, url: string): RunNotes {
  const write = (job: ClaimedJob, note: RunNote): Promise<unknown> =>
    engine.runs.note(actor, job.id, job.leaseToken, note);
  return {
    begun: (job) => orPutOff(begun(engine, actor, job)),
    now: () => engine.now(),
    begin: async (job, { at, ...note }) => {
      await orPutOff(write(job, { ...note, dispatchedAt: at, lastHeartbeat: at }));
    },
    takeBack: async (job) => {
      await orPutOff(write(job, NOTHING));
      await orPutOff(engine.messages.promptTakenBack(job.no));
    },
    heartbeat: async (job) => {
      await write(job, { lastHeartbeat: engine.now() });
    },
    mail: ({ id, leaseToken }, agentId) =>
      orPutOff(engine.messages.handToRun(actor, id, leaseToken, agentId)),
    mailArrived: ({ no }) => engine.messages.promptAccepted(no),
    firstOf: (job) => orPutOff(firstOf(engine, actor, job)),
    priorRuns: (job, plan, message) => orPutOff(priorRuns(engine, actor, job, plan, message)),
    access: async ({ id }, begunAt) => ({
      url,
      runId: id,
      token: await orPutOff(engine.tokens.ofTurn(id, begunAt)),
    }),
  };
}

/** As a run is before anything was sent. */
const NOTHING: RunNote = {
  sessionKey: null,
  transport: null,
  dispatchedAt: null,
  lastHeartbeat: null,
  contextSummary: null,
  promptHash: null,
  prompt: null,
};

/** A child is about what its parent said, too. */
async function priorRuns(
  engine: OpenEngine,
  actor: Actor,
  { no }: ClaimedJob,
  { schedule, trigger }: RunPlan,
  message: string,
): Promise<readonly PriorRun[]> {
  const { id: scheduleId, contextRetrieval: mode, contextRetrievalLimit: limit } = schedule;
  if (mode === 'none') return [];
  const about = trigger === null ? [message] : [message, trigger.output];
  return engine.runs.prior(actor, no, { scheduleId, mode, limit, about });
}

/** Work that could not be written down has not begun: trouble with the database is no failure of the job. */
async function orPutOff<T>(call: Promise<T>): Promise<T> {
  try {
    return await call;
  } catch (error) {
    throw new PutOff(PUT_OFF_MS, error instanceof Error ? error.message : String(error));
  }
}

async function firstOf(engine: OpenEngine, actor: Actor, job: ClaimedJob): Promise<string> {
  if (job.retryOf === undefined) return job.id;
  const { rootNo } = await engine.jobs.get(actor, job.id);
  const [root] = rootNo === null ? [] : await engine.core.store.read.jobs.byNo([rootNo]);
  return root?.id ?? job.id;
}

async function begun(engine: OpenEngine, actor: Actor, { id, no }: ClaimedJob): Promise<Begun | null> {
  const run = await engine.runs.of(no);
  if (run !== null && run.dispatchedAt === null) return null;
  const job = await engine.jobs.get(actor, id);
  // A job that no schedule made has no notes: that it was held before is all that is known of it.
  if (run === null && job.fence === 1) return null;
  const at = run?.dispatchedAt ?? job.createdAt;
  if (await wasReopened(engine, actor, job, at)) return null;
  return { sessionKey: run?.sessionKey ?? null, transport: run?.transport ?? null, at };
}

/** What an operator opened again begins anew, whatever came of it before. */
async function wasReopened(
  engine: OpenEngine,
  actor: Actor,
  { id, seq }: Job,
  since: number,
): Promise<boolean> {
  const events = await engine.jobs.events(actor, id, Math.max(0, seq - LAST_EVENTS), LAST_EVENTS);
  return events.some(({ kind, at }) => kind === 'job.reopened' && at >= since);
}
