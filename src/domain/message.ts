/** The message: what one agent says to another, or asks of the scheduler. */

/** In the order in which they matter to whoever reads them; those from `text` on matter alike. */
export const MESSAGE_KINDS = [
  'constraint',
  'decision',
  'fact',
  'task',
  'preference',
  'text',
  'result',
  'status',
  'system',
  'spawn',
] as const;
export type MessageKind = (typeof MESSAGE_KINDS)[number];

/** Kinds that carry knowledge, and name whose it is. */
export const TYPED_KINDS: readonly MessageKind[] = MESSAGE_KINDS.slice(0, MESSAGE_KINDS.indexOf('text'));

/** They bind whoever reads them, so that an agent may send them to another only by a grant of its token. */
export const GRANTED_KINDS = ['constraint', 'decision'] as const satisfies readonly MessageKind[];
export type Grant = (typeof GRANTED_KINDS)[number];

/** The recipient that stands for all agents, and the one that reads requests to spawn. */
export const BROADCAST = 'broadcast';
export const SCHEDULER = 'scheduler';

const URGENT = 2;

/** The lower is read first: by kind, then by priority; of one rank the older is first. */
export function rankOf(kind: MessageKind, priority: number): number {
  return Math.min(MESSAGE_KINDS.indexOf(kind), TYPED_KINDS.length) * (URGENT + 1) + (URGENT - priority);
}

export interface Message {
  readonly no: number;
  readonly id: string;
  readonly sender: string;
  readonly recipient: string;
  readonly kind: MessageKind;
  readonly subject: string | null;
  readonly body: string;
  /** 0 normal, 1 high, 2 urgent. */
  readonly priority: number;
  readonly rank: number;
  readonly owner: string | null;
  readonly replyTo: string | null;
  /** The first message of its thread; null for that one itself. */
  readonly threadNo: number | null;
  readonly scheduleId: string | null;
  readonly jobNo: number | null;
  /** Of a request to spawn; whether anything else has arrived is said by its receipts. */
  readonly status: 'pending' | 'delivered' | 'failed';
  readonly error: string | null;
  readonly createdAt: number;
  readonly deliveredAt: number | null;
  readonly expiresAt: number | null;
}

/** What became of a message for one of its recipients. */
export interface Receipt {
  readonly messageNo: number;
  readonly agent: string;
  readonly rank: number;
  readonly expiresAt: number | null;
  /** It may be handed out: it has neither arrived nor run out. */
  readonly open: boolean;
  /** The job with which it was handed out last, and the fence of that lease; 0 is a prompt's. */
  readonly jobNo: number | null;
  readonly fence: number;
  readonly deliveredAt: number | null;
  readonly readAt: number | null;
}

/** The fence of what stands in a prompt: a turn outlives the lease under which it was sent. */
export const IN_PROMPT = 0;

/** With which job, and under which lease of it, messages are handed out; the fence of a prompt is `IN_PROMPT`. */
export interface Carrier {
  readonly jobNo: number;
  readonly fence: number;
}

export interface MessageRecord extends Message {
  readonly receipts: readonly Receipt[];
}

export const MESSAGE_STATUSES = ['pending', 'delivered', 'read', 'expired', 'failed'] as const;
export type MessageStatus = (typeof MESSAGE_STATUSES)[number];

/** How many may wait in a mailbox for one more to find room, of all senders and of its own. */
export interface MailboxRoom {
  readonly all: number;
  readonly fromOne: number;
}

/** A broadcast has arrived, or is read, when it is so for everybody. */
export function statusOf(message: MessageRecord, now: number): MessageStatus {
  const { receipts } = message;
  if (message.kind === 'spawn') return message.status;
  if (receipts.length > 0 && receipts.every(({ readAt }) => readAt !== null)) return 'read';
  if (receipts.length > 0 && receipts.every(({ deliveredAt }) => deliveredAt !== null)) return 'delivered';
  return isExpired(message, now) ? 'expired' : 'pending';
}

function isExpired({ expiresAt }: { readonly expiresAt: number | null }, now: number): boolean {
  return expiresAt !== null && expiresAt <= now;
}

/** The moment of the last one; null while one is missing. */
export function lastOf(times: readonly (number | null)[]): number | null {
  return times.reduce<number | null>(
    (last, at) => (last === null || at === null ? null : Math.max(last, at)),
    times.length === 0 ? null : 0,
  );
}

/** Newest first. */
export interface MessageFilter {
  readonly kind?: MessageKind;
  readonly status?: MessageStatus;
  readonly from?: string;
  /** It is one of the recipients. */
  readonly to?: string;
  /** It sent the message, or is one of the recipients. */
  readonly of?: string;
  /** Only messages before this number. */
  readonly before?: number;
  readonly limit: number;
}

/** A place among the unread messages of an agent, which stand in the order of their rank. */
export interface UnreadPlace {
  readonly rank: number;
  readonly no: number;
}
