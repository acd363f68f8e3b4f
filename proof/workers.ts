import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startServer, type TestServer } from '../test/support/server.ts';
import {
  heartbeatOf,
  linesOf,
  makeTask,
  processesOf,
  shellSession,
  SHORT_SERVER,
  startWorker,
  taskOf,
  until,
  untilBeat,
  untilGone,
  untilTask,
  type WorkerProcess,
} from '../test/support/worker-process.ts';
import { seeded } from './random.ts';
import { type ProofReport, report } from './report.ts';
import type { ProofStore } from './stores.ts';

const FAULTS = ['SIGKILL', 'SIGTERM', 'SIGSTOP'] as const;
const TASKS_EACH = 2;

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
  const tasks: string[] = [];
  const violations: string[] = [];
  try {
    for (const { slot } of crews) await untilBeat(server, slot, 'idle');
    for (let cycle = 0; cycle < options.cycles; cycle++) {
      for (const { slot } of crews)
        for (let i = 0; i < TASKS_EACH; i++)
          tasks.push((await makeTask(server, { title: `Task ${tasks.length}`, owner: slot })).id);
      const crew = crews[random.int(crews.length)] as Crew;
      const fault = FAULTS[random.int(FAULTS.length)] as (typeof FAULTS)[number];
      await faulty(server, crew, fault, begin);
      const beat = await heartbeatOf(server, crew.slot);
      if (beat?.metadata['restartCount'] !== crew.restarts)
        violations.push(
          `${crew.slot}: restartCount ${String(beat?.metadata['restartCount'])}, not ${crew.restarts}`,
        );
    }
    for (const id of tasks) await untilTask(server, id, 'done');
    violations.push(...(await doneOnce(server, tasks)), ...overlaps(ledger));
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
    counts: { cycles: options.cycles, tasks: tasks.length },
    violations,
    startedMs,
  });
}

/** Writes down when it begins and ends: `<job> <session> begin|end`. */
function sessionOf(ledger: string): readonly string[] {
  const line = (what: string): string => `echo "$SPINE_JOB_ID $SPINE_SESSION_ID ${what}" >> ${ledger}`;
  return shellSession(`cat >/dev/null; ${line('begin')}; sleep 0.15; ${line('end')}; echo done`);
}

/** The slot is at work again when this resolves. */
async function faulty(
  server: TestServer,
  crew: Crew,
  fault: (typeof FAULTS)[number],
  begin: (slot: string) => WorkerProcess,
): Promise<void> {
  const session = (await heartbeatOf(server, crew.slot))?.sessionId ?? null;
  crew.worker.kill(fault);
  if (fault === 'SIGSTOP') {
    await untilBeat(server, crew.slot, 'offline');
    if (session !== null) await untilGone(session);
    crew.worker.kill('SIGCONT');
    await until(
      `${crew.slot} is back`,
      async () => (await heartbeatOf(server, crew.slot))?.status !== 'offline',
    );
    return;
  }
  await crew.worker.ended;
  if (session !== null) await untilGone(session);
  crew.worker = begin(crew.slot);
  crew.restarts += 1;
  const { pid } = crew.worker;
  await until(
    `${crew.slot} is taken`,
    async () => (await heartbeatOf(server, crew.slot))?.metadata['workerPid'] === pid,
  );
}

async function doneOnce(server: TestServer, tasks: readonly string[]): Promise<string[]> {
  const violations: string[] = [];
  for (const id of tasks) {
    const { body } = await server.head.get<{ events: { type: string }[] }>(`/jobs/${id}/events`);
    const done = body.events.filter(({ type }) => type === 'job.completed').length;
    if (done !== 1) violations.push(`task ${id} was completed ${done} times`);
    const { result } = await taskOf(server, id);
    const left = processesOf(String(result?.['sessionId']));
    if (left.length > 0) violations.push(`processes ${left.join(' ')} of task ${id} are left`);
  }
  return violations;
}

/** A session that ends after another one of the same task has begun was not over in time. */
function overlaps(ledger: string): string[] {
  const newest = new Map<string, string>();
  return linesOf(ledger).flatMap((line) => {
    const [job = '', session = '', what] = line.split(' ');
    if (what === 'begin') newest.set(job, session);
    return what === 'end' && newest.get(job) !== session ? [`two sessions of task ${job} at a time`] : [];
  });
}
