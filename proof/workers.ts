import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startServer, type TestServer } from '../test/support/server.ts';
import {
  heartbeatOf,
  linesOf,
  makeTask,
  shellSession,
  SHORT_SERVER,
  startWorker,
  until,
  untilBeat,
  untilGone,
  untilTask,
  type WorkerProcess,
} from '../test/support/worker-process.ts';
import { seeded } from './random.ts';
import { type ProofReport, report } from './report.ts';
import type { ProofStore } from './stores.ts';
import { checkWorkers, type Fault, hasHit, type TaskStory } from './workers/check.ts';

const FAULTS = ['SIGKILL', 'SIGTERM', 'SIGSTOP'] as const;
const TASKS_EACH = 2;
const LOOKS = 50;
const LOOK_MS = 20;

export interface WorkersOptions {
  readonly slots: number;
  readonly cycles: number;
  readonly seed: number;
}

interface Crew {
  readonly slot: string;
  worker: WorkerProcess;
  /** How often it was started again. */
  restarts: number;
}

/** Kills, stops and freezes workers at work: every task is done once, none is stuck, and no process is left behind. */
export async function proveWorkers(store: ProofStore, options: WorkersOptions): Promise<ProofReport> {
  const startedMs = performance.now();
  const random = seeded(options.seed);
  const folder = mkdtempSync(join(tmpdir(), 'spine-workers-'));
  const ledger = join(folder, 'ledger');
  const cleanUps: (() => void | Promise<void>)[] = [];
  const t = { after: (task: () => void | Promise<void>) => void cleanUps.push(task) };
  await using server = await startServer({ ...store.server, env: SHORT_SERVER });
  const begin = (slot: string): WorkerProcess => startWorker(t, server, slot, { args: sessionOf(ledger) });
  const crews = Array.from({ length: options.slots }, (_, i): Crew => {
    const slot = `slot-${i + 1}`;
    return { slot, worker: begin(slot), restarts: 0 };
  });
  const tasks: { readonly id: string; readonly slot: string }[] = [];
  const faults: Fault[] = [];
  const violations: string[] = [];
  try {
    for (const { slot } of crews) await untilBeat(server, slot, 'idle');
    for (let cycle = 0; cycle < options.cycles; cycle++) {
      for (const { slot } of crews)
        for (let i = 0; i < TASKS_EACH; i++)
          tasks.push({ ...(await makeTask(server, { title: `Task ${tasks.length}`, owner: slot })), slot });
      const crew = crews[random.int(crews.length)] as Crew;
      const fault = FAULTS[random.int(FAULTS.length)] as (typeof FAULTS)[number];
      const hit = await faulty(server, crew, fault, begin);
      const beat = await heartbeatOf(server, crew.slot);
      const told = beat?.metadata['restartCount'];
      faults.push({ ...hit, slot: crew.slot, signal: fault, restarts: crew.restarts, told });
    }
    for (const { id } of tasks) await untilTask(server, id, 'done');
    const stories = await storiesOf(server, tasks);
    const leaseMs = Number(SHORT_SERVER['SPINE_WORKER_STALE_MS']);
    violations.push(...checkWorkers({ tasks: stories, faults, ledger: linesOf(ledger), leaseMs }));
  } catch (error) {
    violations.push(String(error));
  } finally {
    for (const cleanUp of cleanUps) await cleanUp();
    rmSync(folder, { recursive: true, force: true });
  }
  return report({
    proof: 'workers',
    store: store.kind,
    summary: `${options.cycles} workers killed, stopped or frozen, ${tasks.length} tasks done once`,
    counts: { cycles: options.cycles, tasks: tasks.length, hits: faults.filter(hasHit).length },
    violations,
    startedMs,
  });
}

/** Writes down when it begins and ends: `<job> <session> begin|end`. What it leaves behind is in its group, and out of it. */
function sessionOf(ledger: string): readonly string[] {
  const line = (what: string): string => `echo "$SPINE_JOB_ID $SPINE_SESSION_ID ${what}" >> ${ledger}`;
  return shellSession(
    `cat >/dev/null; ${line('begin')}; sleep 60 & setsid sleep 60 & sleep 0.15; ${line('end')}; echo done`,
  );
}

/** The slot is at work again when this resolves: when it was hit, and how long what it left was there. */
async function faulty(
  server: TestServer,
  crew: Crew,
  fault: (typeof FAULTS)[number],
  begin: (slot: string) => WorkerProcess,
): Promise<Pick<Fault, 'atMs' | 'session' | 'goneMs'>> {
  const session = await sessionAtWork(server, crew.slot);
  const atMs = Date.now();
  crew.worker.kill(fault);
  if (fault === 'SIGSTOP') {
    await untilBeat(server, crew.slot, 'offline');
    const goneMs = await goneAfter(session, atMs);
    crew.worker.kill('SIGCONT');
    await until(
      `${crew.slot} is back`,
      async () => (await heartbeatOf(server, crew.slot))?.status !== 'offline',
    );
    return { atMs, session, goneMs };
  }
  // One that was asked to leave finishes its task first.
  await crew.worker.ended;
  const goneMs = await goneAfter(session, fault === 'SIGTERM' ? Date.now() : atMs);
  crew.worker = begin(crew.slot);
  crew.restarts += 1;
  const { pid } = crew.worker;
  await until(
    `${crew.slot} is taken`,
    async () => (await heartbeatOf(server, crew.slot))?.metadata['workerPid'] === pid,
  );
  return { atMs, session, goneMs };
}

/** Its tasks have just been made: mostly one begins at once. */
async function sessionAtWork(server: TestServer, slot: string): Promise<string | null> {
  for (let looks = 0; looks < LOOKS; looks++) {
    const { sessionId = null } = (await heartbeatOf(server, slot)) ?? {};
    if (sessionId !== null) return sessionId;
    await sleep(LOOK_MS);
  }
  return null;
}

async function goneAfter(session: string | null, atMs: number): Promise<number | null> {
  if (session === null) return null;
  return untilGone(session).then(
    () => Date.now() - atMs,
    () => null,
  );
}

async function storiesOf(
  server: TestServer,
  tasks: readonly { readonly id: string; readonly slot: string }[],
): Promise<TaskStory[]> {
  const stories: TaskStory[] = [];
  for (const { id, slot } of tasks) {
    const { body } = await server.head.get<{ events: { type: string; t: string }[] }>(`/jobs/${id}/events`);
    stories.push({ id, slot, events: body.events.map(({ type, t }) => ({ type, atMs: Date.parse(t) })) });
  }
  return stories;
}
