/** A text on its way to somebody outside. */

import type { Place } from './alias.ts';
import type { Button } from './button.ts';
import { LIMITS } from './limits.ts';

export const DELIVERY_STATUSES = ['pending', 'delivered', 'failed'] as const;
export type DeliveryStatus = (typeof DELIVERY_STATUSES)[number];

/**
 * What it tells of: what a run said, how it failed, a question, an event of a subscription, or that some were left out.
 * `chat` is a line for the operator's chat, with markup; `budget` asks about one, `digest` tells of a day, `reply` answers a command, and
 * `press` a button.
 */
export const DELIVERY_KINDS = [
  'result',
  'failure',
  'approval',
  'question',
  'event',
  'gap',
  'chat',
  'budget',
  'digest',
  'reply',
  'press',
] as const;
export type DeliveryKind = (typeof DELIVERY_KINDS)[number];

export interface DeliveryDraft extends Place {
  readonly id: string;
  readonly kind: DeliveryKind;
  readonly jobNo: number | null;
  /** The alias that led to the place, without its @. */
  readonly alias: string | null;
  readonly text: string;
  /** For channels on which people can press any. */
  readonly buttons: readonly Button[] | null;
  readonly at: number;
  /** Not before: lines for a chat wait a little for others to go with. */
  readonly dueAt: number;
  /** Why it can go nowhere: it is kept as failed, for people to see. */
  readonly problem: string | null;
}

export interface Delivery extends Place {
  readonly no: number;
  readonly id: string;
  readonly kind: DeliveryKind;
  readonly jobNo: number | null;
  readonly alias: string | null;
  /** Null once it was delivered: what was said is in the job. */
  readonly text: string | null;
  readonly buttons: readonly Button[] | null;
  readonly status: DeliveryStatus;
  readonly attempts: number;
  /** Of a text that goes in several messages: how many the other side has taken. */
  readonly partsSent: number;
  /** What the other side answered, as JSON. */
  readonly proof: string | null;
  readonly error: string | null;
  readonly createdAt: number;
  readonly dueAt: number;
  readonly deliveredAt: number | null;
}

/** A delivery that this server sends now. */
export interface TakenDelivery extends Delivery {
  /** How often in a row its address has failed. */
  readonly failures: number;
  /** The lines behind it that go in the same message. */
  readonly alongside: readonly Delivery[];
}

/** A try that has come to its end. */
export interface TriedDelivery {
  readonly no: number;
  /** The last of those that went in the same message; its own number when it went alone. */
  readonly lastNo: number;
  readonly address: string;
  /** The try that ended: if another server has begun one since, this one counts for nothing. */
  readonly attempts: number;
  readonly now: number;
}

export interface DeliveryFilter {
  readonly jobNo?: number;
  readonly status?: DeliveryStatus;
  readonly before?: number;
  readonly limit: number;
}

/** What goes to one address goes in order. */
export function addressOf({ channel, target }: Place): string {
  return `${channel}:${target}`;
}

/** The chat of the operator, and how long the first line waits there for others to go with. */
export interface OperatorChat extends Place {
  readonly batchMs: number;
}

/** What one message of a chat takes, in UTF-16 units, and how many lines are looked at to fill it. */
const CHAT_MESSAGE_CHARS = 4_096;
export const CHAT_LINES = 200;

/** Of a line of deliveries, those that go in one message: the first, and of a chat the lines behind it that fit. */
export function batchOf<D extends Pick<Delivery, 'kind' | 'text'>>(line: readonly D[]): D[] {
  const [first] = line;
  if (first?.kind !== 'chat') return line.slice(0, 1);
  let chars = -1;
  const end = line.findIndex(({ kind, text }) => {
    chars += 1 + (text?.length ?? 0);
    return kind !== 'chat' || chars > CHAT_MESSAGE_CHARS;
  });
  return line.slice(0, end === -1 ? line.length : Math.max(1, end));
}

/** The text of that message. */
export function messageOf({ text, alongside }: Pick<TakenDelivery, 'text' | 'alongside'>): string {
  return [text, ...alongside.map((each) => each.text)].map((each) => each ?? '').join('\n');
}

/** What somebody must hear of, or has asked for. */
const PRESSING: readonly DeliveryKind[] = ['approval', 'failure', 'budget', 'reply', 'press', 'gap'];

/** A message of the operator's chat holds dozens of lines: each waits in a tenth of the room that anything else takes. */
export function weightOf(kind: DeliveryKind): number {
  return kind === 'chat' ? 1 : LINES_IN_ROOM_OF_ONE;
}
export const LINES_IN_ROOM_OF_ONE = 10;

/** How many may wait at an address for one more of this kind to find room: what matters less fills no more than its share. */
export function roomFor(kind: DeliveryKind): number {
  const { deliveriesPerAddress: all, deliveriesKeptFree: free } = LIMITS;
  if (PRESSING.includes(kind)) return all;
  return kind === 'question' ? all - free : all - 2 * free;
}

/** With the waits in between this is about ten hours. */
const MAX_ATTEMPTS = 20;
/** What could not be delivered for so long is news to nobody. */
export const STALE_MS = 24 * 3_600_000;

/** Whether one more try is worth while after this many. Lines of a chat are tried every minute, for a day. */
export function isGivenUp(
  { kind, attempts, createdAt }: Pick<Delivery, 'kind' | 'attempts' | 'createdAt'>,
  now: number,
): boolean {
  return (kind !== 'chat' && attempts >= MAX_ATTEMPTS) || now - createdAt > STALE_MS;
}
