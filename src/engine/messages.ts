/** Messages between agents, and what programs ask of the scheduler. */

import type { Actor } from '../domain/command.ts';
import { SpineError } from '../domain/error.ts';
import type { Job } from '../domain/job.ts';
import { LIMITS } from '../domain/limits.ts';
import { BROADCAST, IN_PROMPT, type Message, type MessageRecord } from '../domain/message.ts';
import { keepAgents } from './agents.ts';
import type { Core } from './core.ts';
import type { Messages } from './engine.ts';
import { isParty, mayActAs } from './message-rights.ts';
import { sendMessage } from './sending.ts';

/** Messages that are marked as read in one transaction. */
const READ_BATCH = 1_000;

export function messagesOf(core: Core): Messages {
  const { store } = core;
  const get = async (actor: Actor, id: string): Promise<MessageRecord> => {
    const message = await store.read.messages.byId(id);
    const [found] = message === null ? [] : await recordsOf(core, [message]);
    if (found === undefined || !(await isParty(core, actor, found)))
      throw new SpineError('not_found', { id });
    return found;
  };
  return {
    get,
    send: async (actor, draft, idempotency) => {
      const { id, replayed } = await sendMessage(core, actor, draft, idempotency);
      return { ...(await get(actor, id)), replayed };
    },
    list: async (actor, filter) => {
      const own = actor.role === 'worker' ? { of: actor.name } : {};
      const { messages, next } = await store.read.messages.list({ ...filter, ...own }, core.now());
      return { messages: await recordsOf(core, messages), next };
    },
    thread: async (actor, id, afterNo, limit) => {
      const { threadNo, no } = await get(actor, id);
      // Within a thread others may have talked among themselves.
      const of = actor.role === 'worker' ? actor.name : null;
      return recordsOf(core, await store.read.messages.thread(threadNo ?? no, of, afterNo, limit));
    },
    unread: async (actor, agent, after, limit) => {
      mayActAs(actor, agent);
      return store.read.receipts.unread(agent, core.now(), after, limit);
    },
    countUnread: async (actor, agent) => {
      mayActAs(actor, agent);
      return store.read.receipts.countUnread(agent, core.now(), LIMITS.waitingMessages);
    },
    read: async (actor, id, agent) => {
      const message = await get(actor, id);
      const reader = agent ?? readerOf(actor, message);
      mayActAs(actor, reader);
      const isRecipient = await core.flusher.transact(actor, async (tx, changeSet) =>
        tx.receipts.markRead(message.no, reader, changeSet.now),
      );
      if (!isRecipient) throw new SpineError('not_found', { id, agent: reader });
      return get(actor, id);
    },
    readAll: async (actor, agent) => {
      mayActAs(actor, agent);
      const now = core.now();
      for (let read = 0; ; ) {
        const done = await core.flusher.transact(actor, async (tx) =>
          tx.receipts.markAllRead(agent, now, READ_BATCH),
        );
        read += done;
        if (done < READ_BATCH || read >= LIMITS.waitingMessages) return read;
      }
    },
    carried: async (actor, job) =>
      job.mailed && isHolder(actor, job)
        ? store.read.receipts.carriedBy({ jobNo: job.no, fence: job.fence })
        : [],
    takenBack: ({ no, fence }) =>
      core.flusher.transact(ON_THE_WAY, async (tx) => tx.receipts.takeBack({ jobNo: no, fence })),
    handToRun: (actor, jobId, leaseToken, agent) => handToRun(core, actor, jobId, leaseToken, agent),
    promptAccepted: (jobNo) =>
      core.flusher.transact(ON_THE_WAY, async (tx, changeSet) =>
        tx.receipts.arrived({ jobNo, fence: IN_PROMPT }, null, changeSet.now),
      ),
    promptTakenBack: (jobNo) =>
      core.flusher.transact(ON_THE_WAY, async (tx) => tx.receipts.takeBack({ jobNo, fence: IN_PROMPT })),
  };
}

const ON_THE_WAY: Actor = { name: 'mail', role: 'system', targets: null };

/** Of others nobody is shown what was sent to them. */
function isHolder({ role, name }: Actor, { state, claimedBy }: Job): boolean {
  return role === 'worker' && state === 'running' && claimedBy === name;
}

async function recordsOf(core: Core, messages: readonly Message[]): Promise<MessageRecord[]> {
  const receipts = await core.store.read.receipts.of(messages.map(({ no }) => no));
  return messages.map((message) => ({ ...message, receipts: receipts.get(message.no) ?? [] }));
}

/** Whoever reads is known from the token; of a message to one agent it goes without saying for head, too. */
function readerOf(actor: Actor, { recipient }: Message): string {
  if (actor.role === 'worker') return actor.name;
  if (recipient !== BROADCAST) return recipient;
  const problem = 'agent is missing: this message went to all agents, so say which of them has read it.';
  throw new SpineError('bad_request', { field: 'agent', problem });
}

/** The run's agent is known from here on, with whatever was sent to all. Only the holder of the run may ask. */
async function handToRun(
  core: Core,
  actor: Actor,
  jobId: string,
  leaseToken: string,
  agent: string,
): Promise<readonly Message[]> {
  const { agents, receipts } = core.store.read;
  core.presence.hearAgent(agent, core.now(), 'busy');
  // Most have none, and no commit is made for them.
  if ((await agents.byId(agent)) !== null && !(await receipts.isFull(agent, 1))) return [];
  return core.flusher.transact(actor, async (tx, changeSet) => {
    const [job] = await tx.jobs.lock([jobId]);
    if (job?.leaseToken !== leaseToken) throw new SpineError('lease_lost');
    await keepAgents(tx, [[agent, { at: changeSet.now, status: 'busy' }]], changeSet.now);
    const carrier = { jobNo: job.no, fence: IN_PROMPT };
    return tx.receipts.handOut(agent, carrier, changeSet.now, LIMITS.messagesPerPrompt);
  });
}
