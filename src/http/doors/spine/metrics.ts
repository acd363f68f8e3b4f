/** The numbers: for people as JSON, for Prometheus as text. */

import type { Actor } from '../../../domain/command.ts';
import { type State, STATES } from '../../../domain/job.ts';
import { serves } from '../../../domain/lease.ts';
import type { WorkerSlot } from '../../../domain/worker-slot.ts';
import type { Engine } from '../../../engine/engine.ts';
import { Page, Stats } from './answers.ts';
import type { LoopGauge, Parts } from '../../parts.ts';
import { type Family, prometheus } from './prometheus.ts';
import { route, type Route } from '../../routes.ts';

const PROMETHEUS_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

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
    handle: async ({ engine, actor, parts }) => {
      const counted = (await engine.counts()).filter(({ target }) => serves(actor, target));
      return prometheus([
        ...queueFamilies(counted, parts),
        ...slotFamilies(await engine.workers.list(), engine.now()),
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
  const { waitingClaims, pendingCommands } = gauges();
  return [
    family('spine_info', 'gauge', 'The version that runs.', [[1, { version }]]),
    family(
      'spine_jobs',
      'gauge',
      'Jobs by target and state.',
      counts.map(({ target, state, n }) => [n, { target, state }]),
    ),
    family('spine_claims_waiting', 'gauge', 'Claims that wait for work.', [[waitingClaims]]),
    family('spine_commands_pending', 'gauge', 'Commands that wait for a commit.', [[pendingCommands]]),
    family('spine_event_streams', 'gauge', 'Open streams of events.', [[streams.size]]),
  ];
}

/** One value for each slot, however long its worker has been away. */
function slotFamilies(slots: readonly WorkerSlot[], now: number): Family[] {
  const ofEach = (value: (slot: WorkerSlot) => number): Family['samples'] =>
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
  const ofEach = (value: (loop: LoopGauge) => number | null): Family['samples'] =>
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
      'spine_loop_failing',
      'gauge',
      'Whether its last pass failed.',
      ofEach(({ lastError }) => (lastError === null ? 0 : 1)),
    ),
  ];
}

function requestFamilies({ counts }: Parts): Family[] {
  const samples = counts
    .list()
    .map(({ method, route, status, n }) => [n, { method, route, status: String(status) }] as const);
  return [family('spine_http_requests_total', 'counter', 'Requests by route and status.', samples)];
}

function processFamilies({ loopDelay }: Parts): Family[] {
  const { rss, heapUsed, external } = process.memoryUsage();
  const { p50, p99, max } = loopDelay.take();
  return [
    family('process_resident_memory_bytes', 'gauge', 'Memory of the process.', [[rss]]),
    family('nodejs_heap_size_used_bytes', 'gauge', 'JavaScript heap in use.', [[heapUsed]]),
    family('nodejs_external_memory_bytes', 'gauge', 'Memory outside the heap.', [[external]]),
    family(
      'nodejs_eventloop_lag_seconds',
      'gauge',
      'How late the event loop was since the last time this was asked.',
      [
        [p50, { quantile: '0.5' }],
        [p99, { quantile: '0.99' }],
        [max, { quantile: '1' }],
      ],
    ),
  ];
}

function family(name: string, type: Family['type'], help: string, samples: Family['samples']): Family {
  return { name, type, help, samples };
}
