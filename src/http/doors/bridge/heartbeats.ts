/** Slots of workers: who has one, when it was last heard from, and what it is asked to do. */

import { slotView } from '../../../domain/worker-slot.ts';
import { NoFields } from '../../fields.ts';
import { route, type Route } from '../../routes.ts';
import { BeatBody, Heartbeat, Heartbeats, Removed, SlotParams, StartBody, Started } from './schemas.ts';

const WORKERS = ['head', 'worker'] as const;
const HEAD = ['head'] as const;

export const heartbeatRoutes: readonly Route[] = [
  route({
    method: 'GET',
    path: '/api/heartbeats',
    name: 'listHeartbeats',
    about: 'When each worker that the caller serves was last heard from.',
    who: [...WORKERS, 'viewer'],
    answer: Heartbeats,
    handle: async ({ engine, actor }) => {
      const slots = await engine.workers.list(actor);
      return { workers: Object.fromEntries(slots.map((slot) => [slot.slot, slotView(slot)])) };
    },
  }),
  route({
    method: 'POST',
    path: '/api/heartbeats/start',
    name: 'startWorker',
    about: 'Take a slot. What its last process left undone goes back; refused while that process lives.',
    who: WORKERS,
    body: StartBody,
    answer: Started,
    errors: ['forbidden', 'conflict'],
    handle: async ({ engine, actor, body }) => {
      const { gone = null, metadata = {}, ...start } = body;
      const { slot, recovered } = await engine.workers.start(actor, { ...start, gone, metadata });
      const { staleMs, heartbeatsFile } = engine.workers;
      return { heartbeat: slotView(slot), staleMs, heartbeatsFile, recovered };
    },
  }),
  route({
    method: 'POST',
    path: '/api/heartbeats',
    name: 'beatWorker',
    about: 'Say that a worker is alive and what it does. The answer says whether to take nothing new.',
    who: WORKERS,
    load: 'beat',
    body: BeatBody,
    answer: Heartbeat,
    errors: ['not_found', 'forbidden', 'not_owner', 'conflict'],
    handle: async ({ engine, actor, body }) => {
      const { slot, instance, status, task = null, attempt = null, taskTitle = null } = body;
      const { sessionId = null, metadata = {} } = body;
      const doing = { jobId: task, attempt, title: taskTitle, sessionId };
      const beat = { slot, instance, status, ...doing, metadata };
      return slotView(await engine.workers.beat(actor, beat));
    },
  }),
  ...([true, false] as const).map((draining) =>
    route({
      method: 'POST',
      path: `/api/heartbeats/:slot/${draining ? 'drain' : 'resume'}`,
      name: draining ? 'drainWorker' : 'resumeWorker',
      about: draining
        ? 'Ask a worker to take nothing new, with its further slots.'
        : 'Let a worker take work again.',
      who: HEAD,
      params: SlotParams,
      body: NoFields,
      answer: Heartbeat,
      errors: ['not_found'],
      handle: async ({ engine, actor, params }) =>
        slotView(await engine.workers.drain(actor, params['slot'] ?? '', draining)),
    }),
  ),
  route({
    method: 'DELETE',
    path: '/api/heartbeats/:slot',
    name: 'removeWorker',
    about: 'Forget a slot whose worker is offline.',
    who: HEAD,
    params: SlotParams,
    answer: Removed,
    errors: ['not_found', 'conflict'],
    handle: async ({ engine, actor, params }) => {
      await engine.workers.remove(actor, params['slot'] ?? '');
      return { ok: true };
    },
  }),
];
