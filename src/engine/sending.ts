/** Sends a message: who it is from, whom it reaches, and whether it may. */

import type { Actor, Idempotency } from '../domain/command.ts';
import { SpineError } from '../domain/error.ts';
import { LIMITS } from '../domain/limits.ts';
import {
  BROADCAST,
  type MailboxRoom,
  type Message,
  rankOf,
  type Receipt,
  SCHEDULER,
} from '../domain/message.ts';
import type { Store, Tx } from '../store/store.ts';
import { audit } from './audit.ts';
import type { ChangeSet } from './change-set.ts';
import type { Core } from './core.ts';
import type { IdempotencyKey, MessageDraft } from './engine.ts';
import { MailHint } from './mail-hint.ts';
import { checkGrant, isParty, type Sender, senderOf } from './message-rights.ts';

/** Mailboxes are read at the pace of work. */
const FULL_S = 60;

/** Answers its id, or that of the message that was sent under this key before. */
export async function sendMessage(
  core: Core,
  actor: Actor,
  draft: MessageDraft,
  key?: IdempotencyKey,
): Promise<{ readonly id: string; readonly replayed: boolean }> {
  const seen = key && keyOf(actor, key);
  const earlier = seen && (await sentBefore(core.store.read, seen));
  if (earlier !== undefined) return { id: earlier, replayed: true };
  const sender = await senderOf(core, actor, draft.kind, draft);
  const parent = draft.replyTo === undefined ? null : await parentOf(core, actor, draft.replyTo);
  const recipient = recipientOf(draft, parent);
  checkGrant(actor, draft.kind, sender.name, recipient);
  const id = core.ids.jobId(core.now());
  const message = messageOf(id, draft, sender, recipient, parent, core.now());
  const sent = await core.flusher.transact(actor, async (tx, changeSet) => {
    // The same call may have come twice at once.
    const other = seen && (await sentBefore(tx, seen));
    if (other !== undefined) return { other };
    const waitS = await mustWaitS(tx, changeSet, actor, message);
    if (waitS !== null) return { waitS };
    const agents = await post(tx, message, actor.role === 'head');
    if (seen) await tx.idempotency.remember([{ ...seen, jobIds: [id], at: changeSet.now }]);
    return { agents };
  });
  if ('other' in sent) return { id: sent.other, replayed: true };
  if ('waitS' in sent) throw tooFast(sender.name, sent.waitS);
  core.mail.add(sent.agents);
  if (draft.kind === 'spawn') core.hints.scheduled();
  return { id, replayed: false };
}

/** A run has keys of its own: its worker does many. */
function keyOf({ name, onlyJob }: Actor, { key, bodyHash }: IdempotencyKey): Idempotency {
  return { principal: onlyJob === undefined ? name : `run ${onlyJob}`, key, bodyHash };
}

async function sentBefore(
  { idempotency }: Pick<Store['read'], 'idempotency'>,
  key: Idempotency,
): Promise<string | undefined> {
  const found = await idempotency.find(key);
  if (found !== null && found.bodyHash !== key.bodyHash)
    throw new SpineError('idempotency_conflict', { key: key.key });
  return found?.jobIds[0];
}

/** Only who is a party of it may answer it. */
async function parentOf(core: Core, actor: Actor, id: string): Promise<Message> {
  const message = await core.store.read.messages.byId(id);
  const receipts =
    message === null ? [] : ((await core.store.read.receipts.of([message.no])).get(message.no) ?? []);
  if (message !== null && (await isParty(core, actor, { ...message, receipts }))) {
    await checkNoQuestion(core, id);
    return message;
  }
  throw new SpineError('bad_request', {
    field: 'reply_to',
    problem: `reply_to names the message ${id}, which does not exist or is not yours.`,
  });
}

/** Its job waits for an answer, and would not hear of a message. */
async function checkNoQuestion(core: Core, id: string): Promise<void> {
  const question = await core.store.read.questions.byId(id);
  if (question?.status !== 'open') return;
  throw new SpineError('bad_request', {
    field: 'reply_to',
    problem: `reply_to names a question that is open: answer it with POST /questions/${id}/answer {"answer": …}.`,
  });
}

/** An answer goes to whoever wrote what it answers. */
function recipientOf({ to, kind }: MessageDraft, parent: Message | null): string {
  const recipient = to ?? parent?.sender ?? (kind === 'spawn' ? SCHEDULER : undefined);
  if (recipient !== undefined) return recipient;
  throw new SpineError('bad_request', {
    field: 'to_agent',
    problem: 'to_agent is missing: say who gets the message.',
  });
}

function messageOf(
  id: string,
  draft: MessageDraft,
  sender: Sender,
  recipient: string,
  parent: Message | null,
  createdAt: number,
): Omit<Message, 'no'> {
  const { kind, priority = 0 } = draft;
  return {
    id,
    sender: sender.name,
    recipient,
    kind,
    subject: draft.subject ?? null,
    body: bodyOf(draft),
    priority,
    rank: rankOf(kind, priority),
    owner: draft.owner ?? null,
    replyTo: parent?.id ?? null,
    threadNo: parent === null ? null : (parent.threadNo ?? parent.no),
    scheduleId: sender.scheduleId,
    jobNo: sender.jobNo,
    status: 'pending',
    error: null,
    createdAt,
    deliveredAt: null,
    expiresAt: draft.expiresAt ?? null,
  };
}

function bodyOf({ kind, body }: MessageDraft): string {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  if (kind === 'spawn' || text.length <= LIMITS.messageChars) return text;
  const problem = `body must have at most ${LIMITS.messageChars} characters; put what is larger into an artifact.`;
  throw new SpineError('bad_request', { field: 'body', problem });
}

/** Agents that answer each other without end are stopped. The operator's own messages are not counted. */
async function mustWaitS(
  tx: Tx,
  changeSet: ChangeSet,
  actor: Actor,
  { sender, kind }: Omit<Message, 'no'>,
): Promise<number | null> {
  if (kind === 'spawn' || (actor.role === 'head' && sender === actor.name)) return null;
  const { messagesPerWindow, messageWindowMs } = LIMITS;
  const since = await tx.messages.sentAt(sender, messagesPerWindow - 1);
  if (since === null || since <= changeSet.now - messageWindowMs) return null;
  // Said once in that time: whoever goes on calling writes no further entries.
  const facts = { messages: messagesPerWindow, windowS: messageWindowMs / 1_000 };
  if (!(await tx.audit.has('message.limited', sender, changeSet.now - messageWindowMs)))
    await audit(tx, changeSet, actor, 'message.limited', sender, facts);
  return Math.ceil((since + messageWindowMs - changeSet.now) / 1_000);
}

function tooFast(sender: string, retryAfterS: number): SpineError {
  const { messagesPerWindow: limit, messageWindowMs } = LIMITS;
  const problem = `${sender} has sent ${limit} messages within ${messageWindowMs / 60_000} minutes, and may send no more for now.`;
  return new SpineError('rate_limited', { problem, limit, retryAfterS });
}

/** Answers the agents for whom it waits now. What the operator sends finds room before all others. */
export async function post(
  tx: Tx,
  message: Omit<Message, 'no'>,
  isHeads: boolean,
): Promise<readonly string[]> {
  if (message.kind === 'spawn') {
    if (message.jobNo !== null) await checkSpawns(tx, message.jobNo);
    await tx.messages.insert(message);
    return [];
  }
  const agents = await agentsFor(tx, message, isHeads);
  const messageNo = await tx.messages.insert(message);
  const { rank, expiresAt } = message;
  await tx.receipts.add(
    agents.map(
      (agent): Receipt => ({
        messageNo,
        agent,
        rank,
        expiresAt,
        open: true,
        jobNo: null,
        fence: 0,
        deliveredAt: null,
        readAt: null,
      }),
    ),
  );
  if (agents.length > 0) tx.defer(tx.notify(MailHint.wakeUp(agents)));
  return agents;
}

/**
 * A broadcast is for all agents but its sender; an agent that comes to be known later gets it too, while it lasts. Mailboxes that have
 * no room for it are left out: they are of agents that read nothing.
 */
async function agentsFor(
  tx: Tx,
  { recipient, sender }: Omit<Message, 'no'>,
  isHeads: boolean,
): Promise<readonly string[]> {
  if (recipient === BROADCAST) {
    await tx.agents.lock();
    const others = (await tx.agents.ids()).filter((id) => id !== sender);
    const withRoom = await tx.receipts.withRoomFor(sender, roomIn(LIMITS.waitingMessages, isHeads));
    if (others.length > 0 && withRoom.length === 0) throw full(BROADCAST, LIMITS.waitingMessages);
    return withRoom;
  }
  const isKnown = (await tx.agents.byId(recipient)) !== null;
  const { all, fromOne } = isKnown
    ? roomIn(LIMITS.waitingMessages, isHeads)
    : { all: LIMITS.waitingForUnknown, fromOne: LIMITS.waitingForUnknown };
  if (await tx.receipts.isFull(recipient, all)) throw full(recipient, all);
  if (!isHeads && (await tx.receipts.isFullOf(recipient, sender, fromOne))) {
    const message = `${fromOne} messages of ${sender} wait for ${recipient} already: the rest of its mailbox is for others.`;
    throw full(recipient, fromOne, message);
  }
  if (!isKnown) await checkUnknown(tx, recipient, sender, isHeads);
  return [recipient];
}

/** One sender fills no more than its share of a mailbox, and all of them leave one share for the operator's words. */
function roomIn(limit: number, isHeads: boolean): MailboxRoom {
  const share = limit / LIMITS.mailboxShares;
  return isHeads ? { all: limit, fromOne: limit } : { all: limit - share, fromOne: share };
}

function full(agent: string, limit: number, message?: string): SpineError {
  const details = { agent, limit, retryAfterS: FULL_S };
  return new SpineError('mailbox_full', details, message === undefined ? {} : { message });
}

/** Nobody may ever come to read it. */
async function checkUnknown(tx: Tx, recipient: string, sender: string, isHeads: boolean): Promise<void> {
  const { unknownRecipients: limit, unknownOfOne } = LIMITS;
  if (await tx.receipts.isFull(recipient, 1)) return;
  if (!isHeads && (await tx.receipts.countUnknown(unknownOfOne, sender)) >= unknownOfOne)
    throw full(recipient, unknownOfOne, unknownText(unknownOfOne, `Messages of ${sender}`));
  if ((await tx.receipts.countUnknown(limit, null)) >= limit)
    throw full(recipient, limit, unknownText(limit, 'Messages'));
}

function unknownText(limit: number, what: string): string {
  return `${what} wait for ${limit} names of which no agent is known: correct the name, or register the agent first.`;
}

/** Counted when it is asked, so that a run cannot pile up requests either. */
async function checkSpawns(tx: Tx, jobNo: number): Promise<void> {
  if ((await tx.messages.countSpawns(jobNo)) < LIMITS.spawnsPerRun) return;
  throw new SpineError('too_many_children', { limit: LIMITS.spawnsPerRun });
}
