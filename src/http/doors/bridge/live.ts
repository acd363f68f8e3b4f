/** GET /api/live: what goes on and what needs somebody, in one picture. */

import { statesShownAs, TASK_STATUS_OF } from '../../../domain/statuses.ts';
import { isStale, slotView, type WorkerSlot } from '../../../domain/worker-slot.ts';
import { type Call, route, type Route } from '../../routes.ts';
import { Live } from './schemas.ts';
import { taskView } from './view.ts';

const BLOCKERS = 50;
const ACTIVE_MS = 45_000;
const WAITING_MS = 300_000;
const STALE_MS = 1_800_000;
const HEARD_MS = 60_000;

export const liveRoutes: readonly Route[] = [
  route({
    method: 'GET',
    path: '/api/live',
    name: 'getLive',
    about: 'Workers, what is blocked and what to do about it, and the watchdog.',
    who: ['head', 'worker', 'viewer'],
    answer: Live,
    handle: async (call) => {
      const now = call.engine.now();
      const slots = await call.engine.workers.list(call.actor);
      const blockers = [...slots.flatMap((slot) => silent(call, slot, now)), ...(await blocked(call))];
      return {
        updatedAt: now,
        status: blockers.length === 0 ? 'ok' : 'attention',
        workers: slots.map((slot) => ({ ...slotView(slot), activity: activityOf(slot, now) })),
        blockers,
        watchdog: watchdogOf(call, slots, now),
      };
    },
  }),
];

function activityOf({ status, lastUpdate }: WorkerSlot, now: number): string {
  const ageMs = now - lastUpdate;
  if (status === 'offline' || ageMs > STALE_MS) return 'offline';
  if (ageMs < ACTIVE_MS) return 'active';
  return ageMs < WAITING_MS ? 'waiting' : 'stale';
}

function silent({ engine }: Call, slot: WorkerSlot, now: number): object[] {
  const isGone = slot.metadata['offlineReason'] === 'stale-heartbeat';
  if (!isGone && !isStale(slot, engine.workers.staleMs, now)) return [];
  const label = 'Start the worker again';
  return [
    {
      id: slot.slot,
      title: `The worker ${slot.slot} was not heard from`,
      severity: 'high',
      details: `Its last heartbeat is ${now - slot.lastUpdate} ms old.`,
      remediation: [{ label, command: `spine worker ${slot.slot}`, action: null }],
    },
  ];
}

async function blocked({ engine, actor }: Call): Promise<object[]> {
  const states = statesShownAs(TASK_STATUS_OF, 'blocked');
  const jobs = await engine.jobs.list(actor, { states, order: 'newest', limit: BLOCKERS });
  const details = jobs.length === 0 ? new Map() : await engine.jobs.smallDetails(jobs);
  return jobs.flatMap((job) => {
    const known = details.get(job.no) as Parameters<typeof taskView>[1] | undefined;
    if (known === undefined) return [];
    const { title, metadata } = taskView(job, known, []);
    const remediation = [{ label: 'Try again', command: `spine jobs retry ${job.no}`, action: null }];
    const errorReason = (metadata as { errorReason?: unknown }).errorReason;
    // A worker's error may be any JSON.
    const why = typeof errorReason === 'string' ? errorReason : JSON.stringify(errorReason);
    return [{ id: job.id, title, severity: 'medium', details: why, remediation }];
  });
}

function watchdogOf({ parts, engine }: Call, slots: readonly WorkerSlot[], now: number): object {
  const loop = parts.gauges().loops.find(({ name }) => name === 'watchdog');
  const lastUpdate = Math.max(0, ...slots.map((slot) => slot.lastUpdate));
  const ageMs = now - lastUpdate;
  const status = slots.length === 0 || ageMs < HEARD_MS ? 'ok' : ageMs < WAITING_MS ? 'warn' : 'down';
  const { lastRunAt = null, lastError = null } = loop ?? {};
  return { status, staleMs: engine.workers.staleMs, lastRunAt, lastError };
}
