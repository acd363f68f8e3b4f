/** The numbers: for people as JSON, for Prometheus as text. */

import type { Actor } from '../../../domain/command.ts';
import { SpineError } from '../../../domain/error.ts';
import { isFinal, type State, STATES } from '../../../domain/job.ts';
import { serves } from '../../../domain/lease.ts';
import type { WorkerSlot } from '../../../domain/worker-slot.ts';
import type { Engine, Standing } from '../../../engine/engine.ts';
import { type Metered, OTHER_TARGETS } from '../../../engine/meters.ts';
import { Page, Stats } from './answers.ts';
import type { LoopGauge, Parts } from '../../parts.ts';
import { type Distribution, type Family, type Labels, type Plain, prometheus } from './prometheus.ts';
import { route, type Route } from '../../routes.ts';

const PROMETHEUS_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

/** Targets that are shown by their names. */
const TARGETS_SHOWN = 100;

type Counted = Awaited<ReturnType<Engine['counts']>>;

export const metricRoutes: readonly Route[] = [
  route({
    method: 'GET',
    path: '/stats',
    name: 'getStats',
    about: 'How many jobs are in which state, in all and by target. A worker sees its own targets.',
    who: ['head', 'worker', 'viewer'],
    answer: Stats,
    handle: async ({ engine, actor, parts }) => ({
      ...stats(actor, await engine.counts()),
      waitingClaims: parts.gauges().waitingClaims,
    }),
  }),
  route({
    method: 'GET',
    path: '/metrics',
    name: 'getMetrics',
    about: 'The numbers of this server in the text format of Prometheus.',
    who: ['head', 'viewer'],
    answer: Page,
    media: PROMETHEUS_TYPE,
    errors: ['not_found'],
    handle: async ({ engine, actor, parts }) => {
      if (!parts.metrics) {
        const message = 'Nothing is counted here: SPINE_METRICS is off.';
        throw new SpineError('not_found', {}, { message });
      }
      const counted = (await engine.counts()).filter(({ target }) => serves(actor, target));
      const metered = engine.metered();
      return prometheus([
        ...queueFamilies(counted, parts),
        ...standingFamilies(await engine.standing(), engine.now()),
        ...(metered === null ? [] : workFamilies(metered, actor)),
        ...slotFamilies(await engine.workers.list(actor), engine.now()),
        ...loopFamilies(parts.gauges().loops),
        ...requestFamilies(parts),
        ...processFamilies(parts),
      ]);
    },
  }),
];

/** A worker sees the numbers of the targets it serves. */
function stats(actor: Actor, counts: Counted): object {
  const states = Object.fromEntries(STATES.map((state) => [state, 0])) as Record<State, number>;
  // A map, because a target may be called "constructor".
  const targets = new Map<string, Partial<Record<State, number>>>();
  for (const { target, state, n } of counts) {
    if (n === 0 || !serves(actor, target)) continue;
    states[state] += n;
    const ofTarget = targets.get(target) ?? {};
    ofTarget[state] = (ofTarget[state] ?? 0) + n;
    targets.set(target, ofTarget);
  }
  return { states, targets: Object.fromEntries(targets) };
}

function queueFamilies(counts: Counted, { gauges, streams, version }: Parts): Family[] {
  const { waitingClaims, waitingReads, pendingCommands, spans, droppedLines } = gauges();
  return [
    family('spine_info', 'gauge', 'The version that runs.', [[1, { version }]]),
    family('spine_jobs', 'gauge', 'Jobs by target and state.', depths(counts)),
    family('spine_claims_waiting', 'gauge', 'Claims that wait for work.', [[waitingClaims]]),
    family('spine_reads_waiting', 'gauge', 'Callers that wait for the end of a job.', [[waitingReads]]),
    family('spine_commands_pending', 'gauge', 'Commands that wait for a commit.', [[pendingCommands]]),
    family('spine_event_streams', 'gauge', 'Open streams of events.', [[streams.size]]),
    family('spine_log_lines_dropped_total', 'counter', 'Log lines that nobody took in time.', [
      [droppedLines],
    ]),
    ...(spans === null
      ? []
      : [
          family('spine_spans_sent_total', 'counter', 'Spans that the collector took.', [[spans.sent]]),
          family('spine_spans_dropped_total', 'counter', 'Spans that it refused, or was too slow for.', [
            [spans.dropped],
          ]),
        ]),
  ];
}

/** Callers name targets as they like: those with the most jobs that have not ended are shown, and the others together. */
function depths(counts: Counted): Plain['samples'] {
  const openOf = new Map<string, number>();
  for (const { target, state, n } of counts)
    openOf.set(target, (openOf.get(target) ?? 0) + (isFinal(state) ? 0 : n));
  const shown = new Set(
    [...openOf]
      .toSorted(([, a], [, b]) => b - a)
      .slice(0, TARGETS_SHOWN)
      .map(([target]) => target),
  );
  const others = new Map<State, number>();
  const samples: [number, Labels][] = [];
  for (const { target, state, n } of counts)
    if (shown.has(target)) samples.push([n, { target, state }]);
    else others.set(state, (others.get(state) ?? 0) + n);
  return [...samples, ...[...others].map(([state, n]) => [n, { target: OTHER_TARGETS, state }] as const)];
}

function standingFamilies({ oldestReadyAt, unnumberedAt }: Standing, now: number): Family[] {
  const ageS = (since: number | null): number => (since === null ? 0 : Math.max(0, now - since) / 1000);
  return [
    family(
      'spine_oldest_ready_age_seconds',
      'gauge',
      'How long the job stands ready that has waited longest.',
      [[ageS(oldestReadyAt)]],
    ),
    family('spine_feed_lag_seconds', 'gauge', 'How old the oldest commit is that no reader can see yet.', [
      [ageS(unnumberedAt)],
    ]),
  ];
}

/** What this server has done: after its start all of it is zero. */
function workFamilies(
  { events, staleWrites, commitSeconds, commitCommands, targets }: Metered,
  actor: Actor,
) {
  const counter = (name: string, help: string, n: number): Family => family(name, 'counter', help, [[n]]);
  const byTarget = [...targets].filter(([target]) => serves(actor, target));
  return [
    counter('spine_jobs_created_total', 'Jobs that were made here.', events['job.created']),
    counter('spine_jobs_claimed_total', 'Claims that were decided here.', events['job.claimed']),
    counter('spine_jobs_completed_total', 'Jobs that ended well.', events['job.completed']),
    counter('spine_jobs_failed_total', 'Attempts that were reported as failed.', events['job.failed']),
    counter('spine_jobs_dead_total', 'Jobs that died: no attempt was left.', events['job.dead']),
    counter('spine_jobs_timeouts_total', 'Attempts that took too long.', events['job.timeout']),
    counter('spine_leases_expired_total', 'Leases that ran out.', events['job.expired']),
    counter('spine_stale_writes_refused_total', 'Writes under a lease that was over.', staleWrites),
    histogram(
      'spine_job_queue_wait_seconds',
      'How long jobs stood ready before a claim.',
      byTarget.map(([target, { waits }]) => [waits, { target }] as const),
    ),
    histogram(
      'spine_job_run_seconds',
      'How long attempts took.',
      byTarget.map(([target, { runs }]) => [runs, { target }] as const),
    ),
    histogram('spine_commit_seconds', 'How long commits of commands took.', [[commitSeconds]]),
    histogram('spine_commit_commands', 'How many commands shared a commit.', [[commitCommands]]),
  ];
}

/** One value for each slot, however long its worker has been away. */
function slotFamilies(slots: readonly WorkerSlot[], now: number): Family[] {
  const ofEach = (value: (slot: WorkerSlot) => number): Plain['samples'] =>
    slots.map((slot) => [value(slot), { slot: slot.slot }]);
  return [
    family(
      'spine_worker_up',
      'gauge',
      'Whether the worker of a slot is there.',
      ofEach(({ status }) => (status === 'offline' ? 0 : 1)),
    ),
    family(
      'spine_worker_working',
      'gauge',
      'Whether it has a task.',
      ofEach(({ status }) => (status === 'working' ? 1 : 0)),
    ),
    family(
      'spine_worker_heartbeat_age_seconds',
      'gauge',
      'How long ago it was heard from.',
      ofEach(({ lastUpdate }) => (now - lastUpdate) / 1000),
    ),
    family(
      'spine_worker_restarts_total',
      'counter',
      'How often it was started again.',
      ofEach(({ restartCount }) => restartCount),
    ),
  ];
}

function loopFamilies(loops: readonly LoopGauge[]): Family[] {
  const ofEach = (value: (loop: LoopGauge) => number | null): Plain['samples'] =>
    loops.flatMap((loop) => {
      const now = value(loop);
      return now === null ? [] : [[now, { loop: loop.name }]];
    });
  return [
    family(
      'spine_loop_runs_total',
      'counter',
      'Passes of each background loop.',
      ofEach((loop) => loop.runs),
    ),
    family(
      'spine_loop_last_run_timestamp_seconds',
      'gauge',
      'When each loop last ran.',
      ofEach(({ lastRunAt }) => (lastRunAt === null ? null : lastRunAt / 1000)),
    ),
    family(
      'spine_loop_last_duration_seconds',
      'gauge',
      'How long its last pass took.',
      ofEach(({ lastDurationMs }) => (lastDurationMs === null ? null : lastDurationMs / 1000)),
    ),
    family(
      'spine_loop_errors_total',
      'counter',
      'Passes that failed.',
      ofEach((loop) => loop.errors),
    ),
    family(
      'spine_loop_failing',
      'gauge',
      'Whether its last pass failed.',
      ofEach(({ lastError }) => (lastError === null ? 0 : 1)),
    ),
  ];
}

function requestFamilies({ requests }: Parts): Family[] {
  const routes = requests.list();
  const counts = routes.flatMap(({ method, route, byStatus }) =>
    [...byStatus].map(([status, n]) => [n, { method, route, status: String(status) }] as const),
  );
  return [
    family('spine_http_requests_total', 'counter', 'Requests by route and status.', counts),
    histogram(
      'spine_http_request_seconds',
      'How long requests took, until their answer was there; waits included.',
      routes.map(({ method, route, seconds }) => [seconds, { method, route }] as const),
    ),
  ];
}

function processFamilies({ loopDelay, startedS }: Parts): Family[] {
  const { rss, heapUsed, external } = process.memoryUsage();
  const { user, system } = process.cpuUsage();
  const { p50, p99, max } = loopDelay.take();
  const gauge = (name: string, help: string, value: number): Family => family(name, 'gauge', help, [[value]]);
  return [
    family('process_cpu_seconds_total', 'counter', 'Processor time of the process.', [
      [(user + system) / 1e6],
    ]),
    gauge('process_resident_memory_bytes', 'Memory of the process.', rss),
    gauge('process_start_time_seconds', 'When the process began, in seconds since 1970.', startedS),
    gauge('nodejs_heap_size_used_bytes', 'JavaScript heap in use.', heapUsed),
    gauge('nodejs_external_memory_bytes', 'Memory outside the heap.', external),
    gauge('nodejs_eventloop_lag_p50_seconds', 'How late the event loop was, since this was last asked.', p50),
    gauge('nodejs_eventloop_lag_p99_seconds', 'The same, of the latest hundredth.', p99),
    gauge('nodejs_eventloop_lag_max_seconds', 'The same, at its latest.', max),
  ];
}

function histogram(name: string, help: string, samples: Distribution['samples']): Family {
  return { name, type: 'histogram', help, samples };
}

function family(name: string, type: Plain['type'], help: string, samples: Plain['samples']): Plain {
  return { name, type, help, samples };
}
