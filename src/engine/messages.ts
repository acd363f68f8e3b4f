/** Messages that programs leave for the scheduler. */

import type { Actor } from '../domain/command.ts';
import { SpineError } from '../domain/error.ts';
import { LIMITS } from '../domain/limits.ts';
import type { Message } from '../domain/message.ts';
import type { Tx } from '../store/store.ts';
import type { Core } from './core.ts';
import type { MessageDraft, Messages } from './engine.ts';

export function messagesOf(core: Core): Messages {
  const { store } = core;
  const get = async (id: string): Promise<Message> => {
    const message = await store.read.messages.byId(id);
    if (message === null) throw new SpineError('not_found', { id });
    return message;
  };
  return {
    get,
    list: async (filter) => store.read.messages.list(filter),
    send: async (actor, draft) => {
      const now = core.now();
      const message: Omit<Message, 'no'> = {
        id: core.ids.jobId(now),
        sender: draft.from ?? actor.name,
        recipient: draft.to ?? 'scheduler',
        kind: draft.kind,
        subject: draft.subject ?? null,
        body: typeof draft.body === 'string' ? draft.body : JSON.stringify(draft.body),
        priority: 0,
        owner: null,
        replyTo: null,
        status: 'pending',
        error: null,
        createdAt: now,
        deliveredAt: null,
        readAt: null,
        expiresAt: null,
        ...(await senderOf(core, actor, draft)),
      };
      await core.flusher.transact(actor, async (tx) => {
        if (message.jobNo !== null) await checkRoom(tx, message.jobNo);
        await tx.messages.insert(message);
      });
      core.hints.scheduled();
      return get(message.id);
    },
  };
}

/** Counted when it is asked, so that a run cannot pile up requests either. */
async function checkRoom(tx: Tx, jobNo: number): Promise<void> {
  if ((await tx.messages.countSpawns(jobNo)) < LIMITS.spawnsPerRun) return;
  throw new SpineError('too_many_children', { limit: LIMITS.spawnsPerRun });
}

/** A run speaks for its own schedule; only head may name another. */
async function senderOf(
  core: Core,
  actor: Actor,
  { scheduleId }: MessageDraft,
): Promise<Pick<Message, 'scheduleId' | 'jobNo'>> {
  if (actor.role === 'head') return { scheduleId: scheduleId ?? null, jobNo: null };
  const job = actor.onlyJob === undefined ? null : await core.store.read.jobs.byId(actor.onlyJob);
  const own = job?.scheduleId ?? null;
  if (job === null || own === null || (scheduleId !== undefined && scheduleId !== own))
    throw new SpineError('forbidden', { why: 'only a running job of a schedule may spawn, in its own name' });
  return { scheduleId: own, jobNo: job.no };
}
