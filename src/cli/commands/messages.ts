/** `msg …`: what agents tell each other. */

import type { Message, MessageKind } from '../../client/index.ts';
import type { Handler } from '../command.ts';
import type { Session } from '../session.ts';
import { type Line, type Piece, styled } from '../text/line.ts';
import { table } from '../text/table.ts';
import { relative } from '../text/times.ts';
import { given, readStdin } from './values.ts';

const USUAL = 20;
const PAGE = 1_000;

interface SendOptions {
  readonly kind: MessageKind;
  readonly priority?: number;
  readonly owner?: string;
  readonly subject?: string;
  readonly ttl?: number;
  readonly replyTo?: string;
}

export const send: Handler<SendOptions> = async (
  session,
  { args: [from = '', to = '', text = ''], options },
) => {
  const { kind, priority, owner, subject, ttl, replyTo } = options;
  const body = text === '-' ? (await readStdin(session)).trimEnd() : text;
  const fields = given({
    priority,
    owner,
    subject,
    reply_to: replyTo,
    from_agent: from === '-' ? undefined : from,
  });
  const expires = ttl === undefined ? {} : { ttl_s: Math.max(1, Math.ceil(ttl / 1_000)) };
  const message = await (await session.client()).messages.send({
    to_agent: to,
    kind,
    body,
    ...fields,
    ...expires,
  });
  session.out.result({
    value: message,
    lines: () => [`Sent to ${message.to_agent} (${message.id}).`],
    ids: () => [message.id],
  });
};

export const inbox: Handler = async (session, { args: [agent = '', limit] }) => {
  const { messages } = await (await session.client()).messages.inbox(agent, { limit: limitOf(limit) });
  show(session, messages, `${agent} has read everything.`);
};

export const outbox: Handler = async (session, { args: [agent = '', limit] }) => {
  const filter = { from_agent: agent, limit: limitOf(limit) };
  const { messages } = await (await session.client()).messages.list(filter);
  show(session, messages, `${agent} has sent nothing.`);
};

/** What the command line has parsed may be a number already. */
function limitOf(limit: string | undefined): number {
  return limit === undefined ? USUAL : Number(limit);
}

export const thread: Handler = async (session, { args: [id = ''] }) => {
  const client = await session.client();
  const messages: Message[] = [];
  for (let after: number | null = 0; after !== null; ) {
    const page = await client.messages.thread(id, { after, limit: PAGE });
    messages.push(...page.messages);
    after = page.next_after;
  }
  session.out.result({
    value: { messages },
    lines: () => messages.flatMap((message) => said(message, messages, session.now())),
    ids: () => messages.map((message) => message.id),
  });
};

/** Answers stand below what they answer, a step to the right. */
function said(message: Message, all: readonly Message[], nowMs: number): Line[] {
  const indent = '  '.repeat(depthOf(message, all));
  const { from_agent: from, to_agent: to, created_at: at, id } = message;
  return [
    [
      indent,
      styled('bold', `${from} → ${to}`),
      styled('dim', `  ${message.kind}, ${relative(at, nowMs)}, ${id}`),
    ],
    ...message.body.split('\n').map((line): Line => [indent, '  ', line]),
  ];
}

function depthOf(message: Message, all: readonly Message[]): number {
  const byId = new Map(all.map((each) => [each.id, each]));
  let depth = 0;
  for (let next = message.reply_to; next !== null; next = byId.get(next)?.reply_to ?? null) depth += 1;
  return depth;
}

export const read: Handler<{ readonly agent?: string }> = async (session, { args: [id = ''], options }) => {
  const message = await (await session.client()).messages.read(id, options.agent);
  const reader = options.agent ?? message.to_agent;
  session.out.result({ value: message, lines: () => [`Read by ${reader}.`], ids: () => [message.id] });
};

export const readAll: Handler = async (session, { args: [agent = ''] }) => {
  const count = await (await session.client()).messages.readAll(agent);
  session.out.result({
    value: { agent, read: count },
    lines: () => [`${agent} has read ${count === 1 ? '1 message' : `${count} messages`}.`],
  });
};

export const unread: Handler = async (session, { args: [agent = ''] }) => {
  const count = await (await session.client()).messages.countUnread(agent);
  session.out.result({ value: { agent, unread: count }, lines: () => [String(count)] });
};

function show(session: Session, messages: readonly Message[], nothing: string): void {
  session.out.result({
    value: { messages },
    lines: () => {
      if (messages.length > 0)
        return table(
          HEADS,
          messages.map((message) => cells(message, session.now())),
          session.out.columns,
        );
      session.out.info(nothing);
      return [];
    },
    ids: () => messages.map(({ id }) => id),
  });
}

const HEADS = [
  { head: 'message' },
  { head: 'from' },
  { head: 'to' },
  { head: 'kind' },
  { head: 'says', gives: true },
  { head: 'when' },
  { head: 'status' },
];

const STYLES = {
  pending: 'yellow',
  delivered: 'green',
  read: 'green',
  expired: 'gray',
  failed: 'red',
} as const;
const URGENCY = ['', ' !', ' !!'];

function cells(message: Message, nowMs: number): Piece[] {
  const { id, kind, priority, owner, subject, body, status } = message;
  const whose = owner === null ? '' : `(${owner}) `;
  const what = subject === null ? body : `${subject}: ${body}`;
  return [
    id,
    message.from_agent,
    message.to_agent,
    `${kind}${URGENCY[priority] ?? ''}`,
    `${whose}${what}`.replaceAll(/\s+/g, ' '),
    relative(message.created_at, nowMs),
    styled(STYLES[status], status),
  ];
}
