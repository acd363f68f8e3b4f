/** Messages between agents, and what they ask of the scheduler. */

import type { Message, MessageFilter, MessageStatus } from '../../domain/message.ts';
import type { Sql, Value } from '../sql/driver.ts';
import { first, only } from '../sql/rows.ts';
import { MESSAGE } from '../sql/tables.ts';

export async function byId(sql: Sql, id: string): Promise<Message | null> {
  const row = await first(sql, `select ${MESSAGE.selected} from message where id = $1`, [id]);
  return row && MESSAGE.from(row);
}

const SOME = 'select 1 from receipt where receipt.message_no = message.no';
const every = (column: string): string =>
  `(exists (${SOME}) and not exists (${SOME} and receipt.${column} is null))`;

/** As `statusOf` in the domain says. PostgreSQL takes no parameter that is not used. */
function withStatus(status: MessageStatus, now: () => string): string {
  const plain = "message.kind <> 'spawn'";
  const expired = (): string => `(message.expires_at is not null and message.expires_at <= ${now()})`;
  switch (status) {
    case 'failed':
      return "message.status = 'failed'";
    case 'read':
      return `${plain} and ${every('read_at')}`;
    case 'delivered':
      return `(message.status = 'delivered' or (${plain} and ${every('delivered_at')} and not ${every('read_at')}))`;
    case 'expired':
      return `${plain} and not ${every('delivered_at')} and ${expired()}`;
    case 'pending':
      return `message.status = 'pending' and (message.kind = 'spawn' or (not ${every('delivered_at')} and not ${expired()}))`;
  }
}

export interface FoundMessages {
  readonly messages: Message[];
  /** There may be more before this one; null when everything was looked at, or enough was found. */
  readonly next: number | null;
}

/** What has few matches must not make one call look at all that was ever sent. */
const LOOKED_AT = 2_000;

/** Newest first, among those that one call looks at. Served by the index of each of the lists that it reads. */
export async function list(sql: Sql, filter: MessageFilter, now: number): Promise<FoundMessages> {
  const { kind, status, from, to, of, limit } = filter;
  const params: Value[] = [];
  const bind = (value: Value): string => `$${params.push(value)}`;
  const wanted = [
    ...(kind === undefined ? [] : [`message.kind = ${bind(kind)}`]),
    ...(status === undefined ? [] : [withStatus(status, () => bind(now))]),
    ...(from === undefined || (to ?? of) === undefined ? [] : [`message.sender = ${bind(from)}`]),
    ...(of === undefined || to === undefined ? [] : [isParty(bind(of))]),
  ];
  const most = wanted.length === 0 ? limit : LOOKED_AT;
  const looked = lookedAt(filter, bind, most);
  const where = wanted.map((condition) => ` and ${condition}`).join('');
  const text = `select ${MESSAGE.selected} from message where no in (${looked})${where}
    order by message.no desc limit ${bind(limit)} + 0`;
  const messages = (await sql.all(text, params)).map((row) => MESSAGE.from(row));
  if (most === limit || messages.length >= limit) return { messages, next: null };
  const seen: Value[] = [];
  const again = lookedAt(filter, (value) => `$${seen.push(value)}`, most);
  const [[count, last = null] = []] = await sql.all(`select count(*), min(no) from (${again}) as seen`, seen);
  return { messages, next: (count as number) < most ? null : (last as number) };
}

/** The newest numbers of the lists that a filter names, each read no further than so many. */
function lookedAt(
  { from, to, of, before }: MessageFilter,
  bind: (value: Value) => string,
  most: number,
): string {
  const newest = (table: 'message' | 'receipt', no: string, condition: string): string => {
    const older = before === undefined ? '' : ` and ${no} < ${bind(before)}`;
    return `select no from (select ${no} as no from ${table} where ${condition}${older}
      order by ${no} desc limit ${bind(most)} + 0) as newest`;
  };
  const received = to ?? of;
  const sent = to === undefined ? (of ?? from) : undefined;
  const lists = [
    ...(received === undefined
      ? []
      : [
          newest('message', 'no', `recipient = ${bind(received)}`),
          newest('receipt', 'message_no', `agent = ${bind(received)}`),
        ]),
    ...(sent === undefined ? [] : [newest('message', 'no', `sender = ${bind(sent)}`)]),
  ];
  if (lists.length === 0) return newest('message', 'no', 'no > 0');
  return `select no from (${lists.join(' union ')}) as found order by no desc limit ${bind(most)} + 0`;
}

const isParty = (name: string): string =>
  `(message.sender = ${name} or exists (${SOME} and receipt.agent = ${name}))`;

/** The whole tree of a thread, oldest first; of somebody, what it is a party of. Served by message_thread. */
export async function thread(
  sql: Sql,
  rootNo: number,
  of: string | null,
  afterNo: number,
  limit: number,
): Promise<Message[]> {
  const party = of === null ? '' : ` and (message.sender = $4 or exists (${SOME} and receipt.agent = $4))`;
  const text = `select ${MESSAGE.selected} from message
    where (no = $1 or thread_no = $1) and no > $2${party} order by no limit $3 + 0`;
  const params = [rootNo, afterNo, limit, ...(of === null ? [] : [of])];
  return (await sql.all(text, params)).map((row) => MESSAGE.from(row));
}

/** When the one was sent that lies so many back; null where there are not as many. Served by message_by_sender. */
export function sentAt(sql: Sql, sender: string, back: number): Promise<number | null> {
  const text = 'select created_at from message where sender = $1 order by no desc limit 1 offset $2 + 0';
  return only<number | null>(sql, text, [sender, back]);
}

/** How often this run has asked for another. Served by message_spawned. */
export function countSpawns(sql: Sql, jobNo: number): Promise<number> {
  const text = "select count(*) from message where kind = 'spawn' and job_no = $1";
  return only<number>(sql, text, [jobNo]);
}
