import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { openScene, type RunBody, type ScheduleBody } from '../test/scheduler/support.ts';
import { percentile } from './measure.ts';
import { type ProofReport, report } from './report.ts';
import type { ProofStore } from './stores.ts';

export interface ScheduleLimits {
  /** From the request for a run to its start, 95 of 100. */
  readonly startMs: number;
  /** From the word that approves a run to its start, at the longest. */
  readonly approvedMs: number;
  /** From the start of a chain of ten links to its end. */
  readonly chainMs: number;
  /** Of all that are due at one moment, how many start in a second. */
  readonly startsPerS: number;
  /** How much longer the last tenth of many schedules may take to make than the first. */
  readonly growth: number;
  /** The share of a processor that many schedules may take while none is due, and their memory. */
  readonly idleShare: number;
  readonly idleMb: number;
}

export interface SchedulesOptions {
  readonly runs: number;
  readonly due: number;
  readonly agentMs: number;
  /** Schedules that are never due. */
  readonly many: number;
  readonly idleMs: number;
  readonly limits: ScheduleLimits;
}

const SHELL = { session_target: 'shell', payload_message: 'true' };
const LINKS = 10;

type Scene = Awaited<ReturnType<typeof openScene>>;

/** How soon things start: by hand, along a chain, and a thousand at the same moment beside a slow agent. */
export async function proveSchedules(store: ProofStore, options: SchedulesOptions): Promise<ProofReport> {
  const startedMs = performance.now();
  const { limits } = options;
  await using scene = await openScene({
    ...store.server,
    env: { SCHEDULER_TICK_MS: '10000', SPINE_DRAIN_SECONDS: '4' },
  });
  const start = await byHand(scene, options.runs);
  const approved = await onceApproved(scene, options.runs);
  const chain = await alongChain(scene);
  const crowd = await atOnce(scene, options);
  const many = await manyIdle(scene, options);
  const violations = [
    ...(start > limits.startMs ? [`a run by hand started after ${start} ms (95 of 100)`] : []),
    ...(approved > limits.approvedMs ? [`an approved run started after ${approved} ms`] : []),
    ...(chain > limits.chainMs ? [`a chain of ${LINKS} links took ${chain} ms`] : []),
    ...(crowd.startsPerS < limits.startsPerS
      ? [`${options.due} due runs started at ${crowd.startsPerS}/s, the last after ${crowd.lastMs} ms`]
      : []),
    ...crowd.violations,
    ...(many.growth > limits.growth ? [`the last schedules took ${many.growth} times as long to make`] : []),
    ...(many.idleShare > limits.idleShare ? [`idle schedules took ${many.idleShare} of a processor`] : []),
    ...(many.idleMb > limits.idleMb ? [`idle schedules took ${many.idleMb} MB`] : []),
  ];
  return report({
    proof: 'schedules',
    store: store.kind,
    startedMs,
    counts: {
      startP95Ms: start,
      approvedMaxMs: approved,
      chainMs: chain,
      due: options.due,
      lastStartMs: crowd.lastMs,
      ...many,
    },
    violations,
    summary: `run-now to start p95 ${start} ms; approval to start at most ${approved} ms; chain of ${LINKS} links ${chain} ms; ${options.due} due runs all started within ${crowd.lastMs} ms (${crowd.startsPerS}/s) beside a ${options.agentMs} ms agent call; ${options.many} schedules made in ${many.madeMs} ms, the last tenth ${many.growth} times as slow as the first, idle ${many.idleShare} of a processor and ${many.idleMb} MB`,
  });
}

async function byHand(scene: Scene, runs: number): Promise<number> {
  const made = await scene.plan({ ...SHELL, name: 'by hand', overlap_policy: 'allow' });
  const waits: number[] = [];
  for (let i = 0; i < runs; i++) {
    const askedAt = Date.now();
    const { started_at } = await scene.ended(await scene.run(made));
    waits.push(Date.parse(started_at ?? '') - askedAt);
  }
  return Math.round(percentile(waits, 0.95));
}

async function onceApproved(scene: Scene, runs: number): Promise<number> {
  const made = await scene.plan({
    ...SHELL,
    name: 'approved',
    overlap_policy: 'allow',
    approval_required: true,
  });
  let longestMs = 0;
  for (let i = 0; i < runs; i++) {
    const id = await scene.run(made);
    const approvedAt = Date.now();
    await scene.server.head.post(`/approvals/${id}/approve`, {});
    const { started_at } = await scene.ended(id);
    longestMs = Math.max(longestMs, Date.parse(started_at ?? '') - approvedAt);
  }
  return longestMs;
}

async function alongChain(scene: Scene): Promise<number> {
  const links: ScheduleBody[] = [await scene.plan({ ...SHELL, name: 'link 0' })];
  for (let i = 1; i <= LINKS; i++)
    links.push(
      await scene.plan({ ...SHELL, name: `link ${i}`, parent_id: links.at(-1)?.id, trigger_on: 'success' }),
    );
  const root = await scene.ended(await scene.run(links[0] as ScheduleBody));
  for (;;) {
    const [last] = await scene.runs(links.at(-1) as ScheduleBody);
    if (last?.finished_at) return Date.parse(last.finished_at) - Date.parse(root.started_at ?? '');
    await sleep(20);
  }
}

async function atOnce(scene: Scene, { due, agentMs }: SchedulesOptions) {
  scene.gateway.state.plan = () => ({ text: 'slow', delayMs: agentMs });
  const leadMs = 10_000 + due * 20;
  const dueAt = Date.now() + leadMs;
  const at = new Date(dueAt).toISOString();
  const agent = await scene.plan({ name: 'agent', payload_message: 'think', at });
  const crowd: ScheduleBody[] = [];
  for (let i = 0; i < due; i += 20) {
    const some = Array.from({ length: Math.min(20, due - i) }, (_, k) =>
      scene.plan({ ...SHELL, name: `due ${i + k}`, at }),
    );
    crowd.push(...(await Promise.all(some)));
  }
  const violations: string[] = [];
  if (Date.now() > dueAt) violations.push('the schedules were made too slowly to be due together');
  const runs = await finishedRuns(scene, due, dueAt);
  const counts = Map.groupBy(runs, (run) => run.job_id);
  const odd = crowd.filter(({ id }) => counts.get(id)?.length !== 1).length;
  if (odd > 0) violations.push(`${odd} of ${due} schedules did not run exactly once`);
  const [thinking] = await scene.runs(agent);
  if (thinking?.status !== 'running')
    violations.push(`the agent call was over too soon: ${thinking?.status}`);
  const starts = runs.map(({ started_at }) => Date.parse(started_at ?? '') - dueAt);
  const lastMs = Math.max(...starts);
  return { lastMs, startsPerS: Math.round((due * 1_000) / lastMs), violations };
}

/** All shell runs that became due then, once they have ended. */
async function finishedRuns(scene: Scene, due: number, dueAt: number): Promise<RunBody[]> {
  for (;;) {
    const { body } = await scene.server.head.get<{ runs: RunBody[] }>('/runs?status=ok&limit=1000');
    const found = body.runs.filter(
      (run) => Date.parse(run.created_at) >= dueAt - 1_000 && run.kind !== 'manual',
    );
    if (found.length >= due || Date.now() > dueAt + 60_000) return found;
    await sleep(200);
  }
}

/** Many schedules that are never due: what making them costs, and what having them costs. */
async function manyIdle(scene: Scene, { many, idleMs }: SchedulesOptions) {
  const before = await atRest(scene, idleMs);
  const tenths: number[] = [];
  const startedMs = performance.now();
  let tenthMs = startedMs;
  for (let made = 0; made < many; made += AT_ONCE) {
    await Promise.all(
      Array.from({ length: AT_ONCE }, (_, k) =>
        scene.plan({ ...SHELL, name: `idle ${made + k}`, schedule: '0 0 29 2 *', enabled: false }),
      ),
    );
    if ((made + AT_ONCE) % (many / 10) >= AT_ONCE) continue;
    tenths.push(performance.now() - tenthMs);
    tenthMs = performance.now();
  }
  const madeMs = Math.round(performance.now() - startedMs);
  // They are written down once.
  await sleep(Math.min(WRITTEN_MS, idleMs));
  const after = await atRest(scene, idleMs);
  return {
    many,
    madeMs,
    growth: rounded((tenths.at(-1) ?? 0) / (tenths[0] ?? 1)),
    idleShare: rounded(Math.max(0, after.share - before.share)),
    idleMb: Math.round(after.mb - before.mb),
  };
}

const AT_ONCE = 20;
const WRITTEN_MS = 15_000;

async function atRest({ server }: Scene, forMs: number): Promise<{ share: number; mb: number }> {
  const begunMs = cpuMs(server.pid);
  await sleep(forMs);
  const status = readFileSync(`/proc/${server.pid}/status`, 'utf8');
  const kb = Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]);
  return { share: (cpuMs(server.pid) - begunMs) / forMs, mb: kb / 1_024 };
}

/** Linux counts hundredths of a second. */
function cpuMs(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

function rounded(value: number): number {
  return Math.round(value * 1_000) / 1_000;
}
