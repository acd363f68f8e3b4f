/** Messages: what agents tell each other, and what a running job asks of the scheduler. */

import type { Static } from 'typebox';
import { SpineError } from '../../../domain/error.ts';
import type { Engine, MessageDraft } from '../../../engine/engine.ts';
import { idempotencyHeader, idempotencyOf, REPLAYED } from '../../idempotency.ts';
import { LARGE_ITEM_BYTES, pageOf } from '../../page.ts';
import { type Call, route, type Route } from '../../routes.ts';
import { timeOf } from '../../times.ts';
import { Type } from '../../typebox.ts';
import {
  AllRead,
  Message,
  MessageBody,
  Messages,
  MessagesQuery,
  ReadAllBody,
  ReadBody,
  Thread,
  ThreadQuery,
  Unread,
  UnreadQuery,
} from './message-schemas.ts';
import { messageView } from './message-view.ts';

const SendHeaders = Type.Object(idempotencyHeader);

type Body = Static<typeof MessageBody>;
type Shown = Awaited<ReturnType<Engine['messages']['get']>>;

const AGENTS = ['head', 'worker'] as const;
const READERS = ['head', 'worker', 'viewer'] as const;

const PAGE = 100;
/** What a message takes beside its text, and what each of its receipts takes. */
const MESSAGE_BYTES = 600;
const RECEIPT_BYTES = 100;

export const messageRoutes: readonly Route[] = [
  route({
    method: 'POST',
    path: '/messages',
    name: 'sendMessage',
    about:
      'Send a message to an agent, or to all with to_agent broadcast. Kind spawn asks for a schedule that runs once; a run asks in its own name.',
    who: ['head', 'worker', 'run'],
    forShownTokens: true,
    headers: SendHeaders,
    body: MessageBody,
    status: 201,
    answer: Message,
    errors: [
      'not_found',
      'forbidden',
      'conflict',
      'idempotency_conflict',
      'too_many_children',
      'mailbox_full',
    ],
    handle: async (call) => {
      const { engine, actor, reply } = call;
      const sent = await engine.messages.send(actor, await draftOf(call), idempotencyOf(call));
      if (sent.replayed) reply.header(REPLAYED, 'true');
      return messageView(sent, engine.now());
    },
  }),
  route({
    method: 'GET',
    path: '/messages',
    name: 'listMessages',
    about:
      'List messages, newest first; with agent those that it sent or was sent. One call looks at 2,000 at most: a page may hold fewer than asked for, or none, and next_before goes on. With unread=true those that to_agent has not read, in the order in which they matter. A worker sees its own.',
    who: READERS,
    query: MessagesQuery,
    answer: Messages,
    errors: ['forbidden'],
    handle: async (call) => (call.query.unread === true ? unread(call) : list(call)),
  }),
  route({
    method: 'GET',
    path: '/messages/unread',
    name: 'countUnread',
    about: 'How many messages an agent has not read.',
    who: READERS,
    query: UnreadQuery,
    answer: Unread,
    errors: ['forbidden'],
    handle: async ({ engine, actor, query }) => {
      const agent = agentOf(actor, query.agent);
      return { agent, unread: await engine.messages.countUnread(actor, agent) };
    },
  }),
  route({
    method: 'POST',
    path: '/messages/readall',
    name: 'readAllMessages',
    about: 'Mark everything that was sent to an agent as read.',
    who: AGENTS,
    body: ReadAllBody,
    answer: AllRead,
    errors: ['forbidden'],
    handle: async ({ engine, actor, body }) => {
      const agent = agentOf(actor, body.agent);
      return { agent, read: await engine.messages.readAll(actor, agent) };
    },
  }),
  route({
    method: 'GET',
    path: '/messages/:id',
    name: 'getMessage',
    about:
      'Read a message and what became of it. A worker reads its own, a run those that it wrote or was handed.',
    who: [...READERS, 'run'],
    forShownTokens: true,
    answer: Message,
    errors: ['not_found'],
    handle: async ({ engine, actor, params }) =>
      messageView(await engine.messages.get(actor, params['id'] ?? ''), engine.now()),
  }),
  route({
    method: 'GET',
    path: '/messages/:id/thread',
    name: 'getThread',
    about: 'Read the whole conversation to which a message belongs, oldest first.',
    who: READERS,
    query: ThreadQuery,
    answer: Thread,
    errors: ['not_found'],
    handle: async (call) => {
      const { engine, actor, params, query } = call;
      const { after = 0, limit = PAGE } = query;
      const { items, next } = await pageOf(call, {
        ...largeItems(limit),
        start: after,
        read: (from, count) => engine.messages.thread(actor, params['id'] ?? '', from, count),
        cursorOf: ({ no }) => no,
      });
      return { messages: shown(engine, items), next_after: next };
    },
  }),
  route({
    method: 'POST',
    path: '/messages/:id/read',
    name: 'readMessage',
    about: 'Say that an agent has read a message.',
    who: AGENTS,
    body: ReadBody,
    answer: Message,
    errors: ['not_found', 'forbidden'],
    handle: async ({ engine, actor, params, body }) =>
      messageView(await engine.messages.read(actor, params['id'] ?? '', body.agent), engine.now()),
  }),
];

type ListCall = Call<unknown, Static<typeof MessagesQuery>>;

async function list(call: ListCall): Promise<object> {
  const { engine, actor, query } = call;
  // A message is addressed to no target: a viewer of some targets sees none of them.
  if (actor.role === 'viewer' && actor.targets !== null) throw new SpineError('forbidden');
  const { limit = PAGE, before: start, kind, status, from_agent: from, to_agent: to, agent: of } = query;
  const filter = {
    ...(kind !== undefined && { kind }),
    ...(status !== undefined && { status }),
    ...(from !== undefined && { from }),
    ...(to !== undefined && { to }),
    ...(of !== undefined && { of }),
  };
  let more: number | null = null;
  const { items, next } = await pageOf(call, {
    ...largeItems(limit),
    start,
    read: async (before, count) => {
      const place = before === undefined ? {} : { before };
      const found = await engine.messages.list(actor, { ...filter, ...place, limit: count });
      more = found.next;
      return found.messages;
    },
    cursorOf: ({ no }) => no,
  });
  return { messages: shown(engine, items), next_before: next ?? more };
}

async function unread(call: ListCall): Promise<object> {
  const { engine, actor, query } = call;
  const { limit = PAGE, after = '-1.0', to_agent: to, agent: of } = query;
  const agent = agentOf(actor, to ?? of, 'to_agent');
  const { items, next } = await pageOf(call, {
    ...largeItems(limit),
    start: after,
    read: (from, count) => {
      const [rank = 0, no = 0] = from.split('.').map(Number);
      return engine.messages.unread(actor, agent, { rank, no }, count);
    },
    cursorOf: ({ rank, no }) => `${rank}.${no}`,
  });
  return { messages: shown(engine, items), next_before: null, next_after: next };
}

function largeItems(limit: number) {
  return {
    limit,
    itemBytes: LARGE_ITEM_BYTES,
    bytesOf: ({ body, receipts }: Shown): number =>
      MESSAGE_BYTES + body.length + RECEIPT_BYTES * receipts.length,
  };
}

function shown(engine: Engine, records: readonly Shown[]): object[] {
  return records.map((record) => messageView(record, engine.now()));
}

/** A worker means itself; others have to say whom. */
function agentOf(actor: Call['actor'], named: string | undefined, field = 'agent'): string {
  const agent = named ?? (actor.role === 'worker' ? actor.name : undefined);
  if (agent !== undefined) return agent;
  throw new SpineError('bad_request', { field, problem: `${field} is missing: say whose messages.` });
}

/** Who writes is known from the token, except for head, who may write for anybody. */
async function draftOf({ engine, actor, body }: Call<Body>): Promise<MessageDraft> {
  const from = either('from_agent', body.from_agent, body.fromAgent);
  const to = either('to_agent', body.to_agent, body.toAgent);
  const job = either('job_id', body.job_id, body.jobId);
  const replyTo = either('reply_to', body.reply_to, body.replyTo);
  const expiresAt = expiryOf(body, engine.now());
  if (from !== undefined && actor.role !== 'head') {
    const message = 'from_agent is known from your token; leave it out.';
    throw new SpineError('bad_request', { field: 'from_agent' }, { message });
  }
  const { kind = 'text', subject, priority, owner } = body;
  return {
    kind,
    body: body.body,
    ...(subject !== undefined && { subject }),
    ...(priority !== undefined && { priority }),
    ...(owner !== undefined && { owner }),
    ...(from !== undefined && { from }),
    ...(to !== undefined && { to }),
    ...(replyTo !== undefined && { replyTo }),
    ...(expiresAt !== null && { expiresAt }),
    ...(job !== undefined && { scheduleId: (await engine.schedules.get(actor, job)).id }),
  };
}

/** One that has passed is taken too: such a message is never handed out. */
function expiryOf(body: Body, now: number): number | null {
  const expiresAt = either('expires_at', body.expires_at, body.expiresAt) ?? null;
  const ttlS = either('ttl_s', body.ttl_s, body.ttlS);
  if (expiresAt === null) return ttlS === undefined ? null : now + ttlS * 1_000;
  if (ttlS === undefined) return timeOf(expiresAt, 'expires_at');
  const message = 'Send expires_at or ttl_s, not both.';
  throw new SpineError('bad_request', { field: 'ttl_s' }, { message });
}

/** Names come as the text writes them, or as programs do. */
function either<T>(field: string, one: T | undefined, other: T | undefined): T | undefined {
  if (one === undefined) return other;
  if (other === undefined || one === other) return one;
  const message = `${field} is given twice, under both of its names, and the two must not differ.`;
  throw new SpineError('bad_request', { field }, { message });
}
