/** Sends a message: who it is from, whom it reaches, and whether it may. */

import type { Actor } from '../domain/command.ts';
import { SpineError } from '../domain/error.ts';
import { LIMITS } from '../domain/limits.ts';
import { BROADCAST, type Message, rankOf, type Receipt, SCHEDULER } from '../domain/message.ts';
import type { Tx } from '../store/store.ts';
import { audit } from './audit.ts';
import type { ChangeSet } from './change-set.ts';
import type { Core } from './core.ts';
import type { MessageDraft } from './engine.ts';
import { MailHint } from './mail-hint.ts';
import { checkGrant, isParty, type Sender, senderOf } from './message-rights.ts';

/** Mailboxes are read at the pace of work. */
const FULL_S = 60;

/** Answers its id. */
export async function sendMessage(core: Core, actor: Actor, draft: MessageDraft): Promise<string> {
  const sender = await senderOf(core, actor, draft.kind, draft);
  const parent = draft.replyTo === undefined ? null : await parentOf(core, actor, draft.replyTo);
  const recipient = recipientOf(draft, parent);
  checkGrant(actor, draft.kind, sender.name, recipient);
  const id = core.ids.jobId(core.now());
  const message = messageOf(id, draft, sender, recipient, parent, core.now());
  const sent = await core.flusher.transact(actor, async (tx, changeSet) => {
    const waitS = await mustWaitS(tx, changeSet, actor, message);
    if (waitS !== null) return { waitS };
    return { agents: await post(tx, message) };
  });
  if ('waitS' in sent) throw tooFast(sender.name, sent.waitS);
  core.mail.add(sent.agents);
  if (draft.kind === 'spawn') core.hints.scheduled();
  return id;
}

/** Only who is a party of it may answer it. */
async function parentOf(core: Core, actor: Actor, id: string): Promise<Message> {
  const message = await core.store.read.messages.byId(id);
  const receipts =
    message === null ? [] : ((await core.store.read.receipts.of([message.no])).get(message.no) ?? []);
  if (message !== null && (await isParty(core, actor, { ...message, receipts }))) return message;
  throw new SpineError('bad_request', {
    field: 'reply_to',
    problem: `reply_to names the message ${id}, which does not exist or is not yours.`,
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

/** Answers the agents for whom it waits now. */
export async function post(tx: Tx, message: Omit<Message, 'no'>): Promise<readonly string[]> {
  if (message.kind === 'spawn') {
    if (message.jobNo !== null) await checkSpawns(tx, message.jobNo);
    await tx.messages.insert(message);
    return [];
  }
  const agents = await agentsFor(tx, message);
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

/** A broadcast is for all agents but its sender. An agent that comes to be known later gets it too, while it lasts. */
async function agentsFor(tx: Tx, { recipient, sender }: Omit<Message, 'no'>): Promise<readonly string[]> {
  if (recipient === BROADCAST) {
    await tx.agents.lock();
    return (await tx.agents.ids()).filter((id) => id !== sender);
  }
  const isKnown = (await tx.agents.byId(recipient)) !== null;
  const limit = isKnown ? LIMITS.waitingMessages : LIMITS.waitingForUnknown;
  if (await tx.receipts.isFull(recipient, limit))
    throw new SpineError('mailbox_full', { agent: recipient, limit, retryAfterS: FULL_S });
  if (!isKnown) await checkUnknown(tx, recipient);
  return [recipient];
}

/** Nobody may ever come to read it, so that it would be kept for ever. */
async function checkUnknown(tx: Tx, recipient: string): Promise<void> {
  const { unknownRecipients: limit } = LIMITS;
  if ((await tx.receipts.isFull(recipient, 1)) || (await tx.receipts.countUnknown(limit)) < limit) return;
  const message = `Messages wait for ${limit} names of which no agent is known: correct the name, or register the agent first.`;
  throw new SpineError('mailbox_full', { agent: recipient, limit, retryAfterS: FULL_S }, { message });
}

/** Counted when it is asked, so that a run cannot pile up requests either. */
async function checkSpawns(tx: Tx, jobNo: number): Promise<void> {
  if ((await tx.messages.countSpawns(jobNo)) < LIMITS.spawnsPerRun) return;
  throw new SpineError('too_many_children', { limit: LIMITS.spawnsPerRun });
}
