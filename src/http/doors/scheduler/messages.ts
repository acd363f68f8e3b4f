/** Messages that programs leave for the scheduler: a running job asks for another one. */

import type { Static } from 'typebox';
import { SpineError } from '../../../domain/error.ts';
import type { MessageDraft } from '../../../engine/engine.ts';
import { LARGE_ITEM_BYTES, pageOf } from '../../page.ts';
import { type Call, route, type Route } from '../../routes.ts';
import { Message, Messages } from './answers.ts';
import { MessageBody, MessagesQuery } from './schemas.ts';
import { READERS } from './schedules.ts';
import { messageView } from './view.ts';

type Body = Static<typeof MessageBody>;

const PAGE = 100;
/** What a message takes beside its text. */
const MESSAGE_BYTES = 600;

export const messageRoutes: readonly Route[] = [
  route({
    method: 'POST',
    path: '/messages',
    name: 'sendMessage',
    about: 'Leave a message. Kind spawn asks for a schedule that runs once; a run asks in its own name.',
    who: ['head', 'run'],
    forShownTokens: true,
    body: MessageBody,
    status: 201,
    answer: Message,
    errors: ['not_found', 'forbidden', 'conflict', 'too_many_children'],
    handle: async (call) => messageView(await call.engine.messages.send(call.actor, await draftOf(call))),
  }),
  route({
    method: 'GET',
    path: '/messages',
    name: 'listMessages',
    about: 'List messages, newest first.',
    who: READERS,
    query: MessagesQuery,
    answer: Messages,
    errors: ['forbidden'],
    handle: async (call) => {
      const { engine, actor, query } = call;
      // A message is addressed to no target, so whoever sees only some sees none of them.
      if (actor.targets !== null) throw new SpineError('forbidden');
      const { limit = PAGE, before: start, ...filter } = query;
      const { items, next } = await pageOf(call, {
        limit,
        itemBytes: LARGE_ITEM_BYTES,
        start,
        read: (before, count) =>
          engine.messages.list({ ...filter, ...(before !== undefined && { before }), limit: count }),
        cursorOf: ({ no }) => no,
        bytesOf: ({ body }) => MESSAGE_BYTES + body.length,
      });
      return { messages: items.map(messageView), next_before: next };
    },
  }),
  route({
    method: 'GET',
    path: '/messages/:id',
    name: 'getMessage',
    about: 'Read a message and what became of it. A run reads those that it wrote.',
    who: [...READERS, 'run'],
    forShownTokens: true,
    answer: Message,
    errors: ['not_found'],
    handle: async (call) => {
      const { engine, params } = call;
      const message = await engine.messages.get(params['id'] ?? '');
      if (!(await mayRead(call, message.jobNo))) throw new SpineError('not_found', { id: message.id });
      return messageView(message);
    },
  }),
];

/** A run reads what it wrote. Of the others those who see all targets: a message is addressed to none. */
async function mayRead({ engine, actor }: Call, jobNo: number | null): Promise<boolean> {
  if (actor.onlyJob === undefined) return actor.targets === null;
  return (await engine.jobs.get(actor, actor.onlyJob)).no === jobNo;
}

/** Who writes is known from the token, except for head, who may write for anybody. */
async function draftOf({ engine, actor, body }: Call<Body>): Promise<MessageDraft> {
  const from = either(body, 'from_agent', 'fromAgent');
  const to = either(body, 'to_agent', 'toAgent');
  const job = either(body, 'job_id', 'jobId');
  if (from !== undefined && actor.role !== 'head') {
    const message = 'from_agent is known from your token; leave it out.';
    throw new SpineError('bad_request', { field: 'from_agent' }, { message });
  }
  return {
    kind: body.kind,
    body: body.body,
    ...(body.subject !== undefined && { subject: body.subject }),
    ...(from !== undefined && { from }),
    ...(to !== undefined && { to }),
    ...(job !== undefined && { scheduleId: (await engine.schedules.get(job)).id }),
  };
}

function either<A extends keyof Body, B extends keyof Body>(body: Body, one: A, other: B): Body[A] | Body[B] {
  if (body[one] === undefined) return body[other];
  if (body[other] === undefined || body[one] === body[other]) return body[one];
  const message = `${one} and ${other} mean the same and must not differ.`;
  throw new SpineError('bad_request', { field: one }, { message });
}
