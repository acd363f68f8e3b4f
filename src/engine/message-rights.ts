/** Who may send and see which messages. */

import type { Actor } from '../domain/command.ts';
import { SpineError } from '../domain/error.ts';
import type { Job } from '../domain/job.ts';
import { GRANTED_KINDS, type MessageKind, type MessageRecord } from '../domain/message.ts';
import type { Reads } from '../store/store.ts';
import type { Core } from './core.ts';

/** Head and viewers of everything see all. A worker sees what it sent or was sent, a run what it wrote or was handed. */
export async function isParty(core: Core, actor: Actor, message: MessageRecord): Promise<boolean> {
  const { sender, receipts } = message;
  const { name, role, targets, onlyJob } = actor;
  if (onlyJob !== undefined) {
    const no = (await core.store.read.jobs.byId(onlyJob))?.no;
    return no !== undefined && (message.jobNo === no || receipts.some(({ jobNo }) => jobNo === no));
  }
  if (role === 'worker') return sender === name || receipts.some(({ agent }) => agent === name);
  return targets === null;
}

/** An agent's messages are its own: only head acts for another. */
export function mayActAs({ name, role, targets }: Actor, agent: string): void {
  if (role === 'worker' ? agent === name : targets === null) return;
  throw new SpineError('forbidden', { agent }, { message: `The messages of ${agent} are not yours.` });
}

/** What binds another agent needs the operator's word. */
export function checkGrant(actor: Actor, kind: MessageKind, sender: string, recipient: string): void {
  if (actor.role === 'head' || actor.role === 'system' || sender === recipient) return;
  const needed = GRANTED_KINDS.find((grant) => grant === kind);
  if (needed === undefined || actor.grants?.includes(needed)) return;
  throw new SpineError(
    'forbidden',
    { grant: needed },
    { message: `A ${kind} to another agent needs the grant "${needed}" of your token.` },
  );
}

export interface Sender {
  readonly name: string;
  readonly scheduleId: string | null;
  readonly jobNo: number | null;
}

/** Whoever does the work at a gateway is its agent, not the worker that sent it there. Null for all other work. */
export async function agentAtGateway(read: Reads, { target, scheduleId }: Job): Promise<string | null> {
  if (!target.startsWith('gateway:') || scheduleId === null) return null;
  const [schedule] = await read.schedules.byPrefix(scheduleId, 1);
  return schedule?.spec.agentId ?? null;
}

/** A run speaks for its own agent and schedule, a worker for itself; only head may name another. */
export async function senderOf(
  core: Core,
  actor: Actor,
  kind: MessageKind,
  asked: { readonly from?: string; readonly scheduleId?: string },
): Promise<Sender> {
  if (actor.role === 'head')
    return { name: asked.from ?? actor.name, scheduleId: asked.scheduleId ?? null, jobNo: null };
  const job = actor.onlyJob === undefined ? null : await core.store.read.jobs.byId(actor.onlyJob);
  const own = job?.scheduleId ?? null;
  const isAnothers = asked.scheduleId !== undefined && asked.scheduleId !== own;
  if (isAnothers || (kind === 'spawn' && own === null))
    throw new SpineError('forbidden', {
      why: 'only a running job of a schedule may spawn, in its own name',
    });
  const agent = job === null ? null : await agentAtGateway(core.store.read, job);
  return { name: agent ?? actor.name, scheduleId: own, jobNo: job?.no ?? null };
}
