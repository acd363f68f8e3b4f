/** Deliveries on their way. Each address is a line: the first in it is sent, the others wait for it. */

import type { Place } from '../../domain/alias.ts';
import {
  addressOf,
  batchOf,
  CHAT_LINES,
  type Delivery,
  type DeliveryDraft,
  type DeliveryStatus,
  LINES_IN_ROOM_OF_ONE,
  roomFor,
  weightOf,
  type TakenDelivery,
  type TriedDelivery,
} from '../../domain/delivery.ts';
import { locking, perDialect, type Row, type Shape, type Sql, type Value } from '../sql/driver.ts';
import { column } from '../sql/rows.ts';
import { DELIVERY } from '../sql/tables.ts';

const NEW: Shape = {
  table: 'delivery',
  columns: [
    ['id', 'text'],
    ['kind', 'text'],
    ['job_no', 'bigint'],
    ['alias', 'text'],
    ['channel', 'text'],
    ['target', 'text'],
    ['address', 'text'],
    ['body', 'text'],
    ['buttons', 'text'],
    ['status', 'text'],
    ['attempts', 'bigint'],
    ['parts_sent', 'bigint'],
    ['error', 'text'],
    ['created_at', 'bigint'],
    ['due_at', 'bigint'],
  ],
};

/**
 * In the order of their drafts at each address; those that find no room are counted, and kept as failed. Addresses are taken in
 * order, so that two commits never wait for each other.
 */
export async function add(sql: Sql, drafts: readonly DeliveryDraft[]): Promise<void> {
  const lines = new Map<string, DeliveryDraft[]>();
  for (const draft of drafts) {
    const address = draft.problem === null ? addressOf(draft) : '';
    const line = lines.get(address);
    if (line === undefined) lines.set(address, [draft]);
    else line.push(draft);
  }
  const kept: DeliveryDraft[] = lines.get('') ?? [];
  lines.delete('');
  for (const [address, line] of [...lines].toSorted(([a], [b]) => (a < b ? -1 : 1)))
    kept.push(...(await joinLine(sql, address, line)));
  if (kept.length > 0) await sql.insert(NEW, kept.map(newRow));
}

function newRow(draft: DeliveryDraft): Row {
  const { id, kind, jobNo, alias, channel, target, text, problem, at, dueAt } = draft;
  const buttons = draft.buttons === null ? null : JSON.stringify(draft.buttons);
  const status: DeliveryStatus = problem === null ? 'pending' : 'failed';
  const place = [channel, target, addressOf(draft)];
  return [id, kind, jobNo, alias, ...place, text, buttons, status, 0, 0, problem, at, dueAt];
}

const NO_ROOM = 'no room: too many waited there already';
const WEIGHT = `case when kind = 'chat' then ${weightOf('chat')} else ${LINES_IN_ROOM_OF_ONE} end`;

/** What the rows that a statement changes take of the room. */
async function weightOfRows(sql: Sql, update: string, values: readonly Value[]): Promise<number> {
  const weights = await column<number>(sql, `${update} returning ${WEIGHT}`, values);
  return weights.reduce((sum, weight) => sum + weight, 0);
}

/** The update of nothing locks the row: whoever ends the last one there waits for this commit. */
async function joinLine(
  sql: Sql,
  address: string,
  line: readonly DeliveryDraft[],
): Promise<readonly DeliveryDraft[]> {
  const [row] = await sql.all(
    `insert into delivery_address (address, run_at, failures, waiting, left_out) values ($1, $2, 0, 0, 0)
     on conflict (address) do update set waiting = delivery_address.waiting returning waiting`,
    [address, line[0]?.dueAt ?? 0],
  );
  const waiting = row?.[0] as number;
  let [joined, leftOut] = [0, 0];
  const kept = line.map((draft) => {
    if (waiting + joined < roomFor(draft.kind) * LINES_IN_ROOM_OF_ONE) {
      joined += weightOf(draft.kind);
      return draft;
    }
    leftOut += 1;
    return { ...draft, problem: NO_ROOM };
  });
  await sql.run(
    'update delivery_address set waiting = waiting + $2, left_out = left_out + $3 where address = $1',
    [address, joined, leftOut],
  );
  return kept;
}

// Served by delivery_address_due.
const dueAddresses = perDialect(
  (dialect) =>
    `select address, failures from delivery_address where run_at <= $1
     order by run_at limit $2 + 0${locking({ dialect }, 'for update skip locked')}`,
);
// An address that waits for nothing but company: nobody sends there, and the last try did not fail.
const gatheringAddresses = perDialect(
  (dialect) =>
    `select address, failures from delivery_address where run_at > $1 and failures = 0 and run_at = (
       select due_at from delivery where delivery.address = delivery_address.address and status = 'pending'
       order by no limit 1)
     limit $2 + 0${locking({ dialect }, 'for update skip locked')}`,
);
// Served by delivery_waiting.
const FIRST = `select ${DELIVERY.selected} from delivery where address = $1 and status = 'pending' order by no limit $2 + 0`;

/** The first of each address whose moment has come; nobody else takes those addresses for a while. */
export async function take(sql: Sql, now: number, limit: number, leaseMs: number): Promise<TakenDelivery[]> {
  return takeAt(sql, await sql.all(dueAddresses(sql), [now, limit]), now, leaseMs);
}

/** The same of addresses where lines still wait for others to go with: the server stops. */
export async function takeEarly(
  sql: Sql,
  now: number,
  limit: number,
  leaseMs: number,
): Promise<TakenDelivery[]> {
  return takeAt(sql, await sql.all(gatheringAddresses(sql), [now, limit]), now, leaseMs);
}

async function takeAt(
  sql: Sql,
  addresses: readonly Row[],
  now: number,
  leaseMs: number,
): Promise<TakenDelivery[]> {
  const taken: TakenDelivery[] = [];
  for (const [address = null, failures] of addresses) {
    const [first, ...alongside] = await batchAt(sql, address);
    if (first === undefined) {
      await sql.run('delete from delivery_address where address = $1', [address]);
      continue;
    }
    const lastNo = alongside.at(-1)?.no ?? first.no;
    await sql.run('update delivery_address set run_at = $2 where address = $1', [address, now + leaseMs]);
    await sql.run(
      "update delivery set attempts = attempts + 1 where address = $1 and status = 'pending' and no between $2 and $3",
      [address, first.no, lastNo],
    );
    taken.push({ ...first, attempts: first.attempts + 1, failures: failures as number, alongside });
  }
  return taken;
}

/** Those behind the first are read only where they may go with it. */
async function batchAt(sql: Sql, address: Value): Promise<Delivery[]> {
  const line = async (limit: number): Promise<Delivery[]> =>
    (await sql.all(FIRST, [address, limit])).map((row) => DELIVERY.from(row));
  const [first] = await line(1);
  if (first === undefined) return [];
  return batchOf(first.kind === 'chat' ? await line(CHAT_LINES) : [first]);
}

/** Only the try that began last may end it. Locks the address, so that nothing is added to the line meanwhile. */
async function mayEnd(sql: Sql, { no, address, attempts }: TriedDelivery): Promise<boolean> {
  await sql.all(lockAddress(sql), [address]);
  const [row] = await sql.all("select attempts from delivery where no = $1 and status = 'pending'", [no]);
  return row?.[0] === attempts;
}

const lockAddress = perDialect(
  (dialect) => `select 1 from delivery_address where address = $1${locking({ dialect }, 'for update')}`,
);

/** Some of its messages have gone out, and the rest goes on; false when another try has begun meanwhile. */
export async function noteParts(
  sql: Sql,
  tried: TriedDelivery,
  partsSent: number,
  proof: string,
  leaseMs: number,
): Promise<boolean> {
  if (!(await mayEnd(sql, tried))) return false;
  await sql.run('update delivery set parts_sent = $2, proof = $3 where no = $1', [
    tried.no,
    partsSent,
    proof,
  ]);
  await sql.run('update delivery_address set run_at = $2 where address = $1', [
    tried.address,
    tried.now + leaseMs,
  ]);
  return true;
}

const FIRST_DUE = "select due_at from delivery where address = $1 and status = 'pending' order by no limit 1";

/** The other side has it. The next there goes no sooner than `paceMs` later, nor before it is due itself. */
export async function end(sql: Sql, tried: TriedDelivery, proof: string, paceMs: number): Promise<void> {
  if (!(await mayEnd(sql, tried))) return;
  const ended = await weightOfRows(
    sql,
    `update delivery set status = 'delivered', body = null, proof = $4, error = null, delivered_at = $5
     where address = $1 and status = 'pending' and no between $2 and $3`,
    [tried.address, tried.no, tried.lastNo, proof, tried.now],
  );
  const [next] = await sql.all(FIRST_DUE, [tried.address]);
  const runAt = Math.max(tried.now + paceMs, (next?.[0] as number | undefined) ?? 0);
  await sql.run(
    'update delivery_address set run_at = $2, failures = 0, waiting = waiting - $3 where address = $1',
    [tried.address, runAt, ended],
  );
  await tellOfGap(sql, tried);
  await dropIfEmpty(sql, tried.address);
}

/** Once there is room again, the receiver is told how many found none. */
async function tellOfGap(sql: Sql, { no, address, now }: TriedDelivery): Promise<void> {
  const [row] = await sql.all('select left_out from delivery_address where address = $1', [address]);
  const leftOut = (row?.[0] as number | undefined) ?? 0;
  if (leftOut === 0) return;
  const text = `${leftOut} more found no room, as too many were waiting here already. They are kept as failed deliveries.`;
  await sql.run(
    `insert into delivery (id, kind, alias, channel, target, address, body, status, attempts, parts_sent, created_at, due_at)
     select id || $4, 'gap', alias, channel, target, address, $2, 'pending', 0, 0, cast($3 as bigint), cast($3 as bigint) from delivery where no = $1`,
    // The same delivery may come to its end again, after somebody had it tried again.
    [no, text, now, `.gap-${now}`],
  );
  await sql.run(
    `update delivery_address set left_out = 0, waiting = waiting + ${weightOf('gap')} where address = $1`,
    [address],
  );
}

/** The rows decide, not the count: an address that is gone while one waits would never be looked at again. */
async function dropIfEmpty(sql: Sql, address: string): Promise<void> {
  await sql.run(
    `delete from delivery_address where address = $1
       and not exists (select 1 from delivery where delivery.address = $1 and status = 'pending')`,
    [address],
  );
}

export async function retry(sql: Sql, tried: TriedDelivery, error: string, runAt: number): Promise<void> {
  if (!(await mayEnd(sql, tried))) return;
  await sql.run('update delivery set error = $2 where no = $1', [tried.no, error]);
  await sql.run('update delivery_address set run_at = $2, failures = failures + 1 where address = $1', [
    tried.address,
    runAt,
  ]);
}

/** Gives it up, and with `olderThan` all that waits there for longer. */
export async function giveUp(
  sql: Sql,
  tried: TriedDelivery,
  error: string,
  runAt: number,
  olderThan: number | null,
): Promise<void> {
  if (!(await mayEnd(sql, tried))) return;
  const given = await weightOfRows(
    sql,
    `update delivery set status = 'failed', error = $2
     where address = $1 and status = 'pending' and (no between $3 and $5 or created_at < $4)`,
    [tried.address, error, tried.no, olderThan ?? 0, tried.lastNo],
  );
  await sql.run(
    'update delivery_address set run_at = $2, failures = failures + $4, waiting = waiting - $3 where address = $1',
    // What was refused for itself says nothing of the address.
    [tried.address, runAt, given, olderThan === null ? 0 : 1],
  );
  await tellOfGap(sql, tried);
  await dropIfEmpty(sql, tried.address);
}

/** Has a failed one sent to this place after all, and all of it where it went elsewhere before; false when it has not failed. */
export async function reopen(sql: Sql, id: string, place: Place, now: number): Promise<boolean> {
  const address = addressOf(place);
  const reopened = await weightOfRows(
    sql,
    `update delivery set status = 'pending', attempts = 0, error = null, created_at = $2, due_at = $2,
       parts_sent = case when address = $5 then parts_sent else 0 end,
       proof = case when address = $5 then proof end,
       channel = $3, target = $4, address = $5 where id = $1 and status = 'failed'`,
    [id, now, place.channel, place.target, address],
  );
  if (reopened === 0) return false;
  await sql.run(
    `insert into delivery_address (address, run_at, failures, waiting, left_out) values ($1, $2, 0, $3, 0)
     on conflict (address) do update set run_at = excluded.run_at, failures = 0, waiting = delivery_address.waiting + excluded.waiting`,
    [address, now, reopened],
  );
  return true;
}

/** What still waits stays. */
export function dropOld(sql: Sql, before: number, limit: number) {
  return sql.run(
    `delete from delivery where no in (
       select no from delivery where created_at < $1 and status <> 'pending' order by created_at limit $2 + 0)`,
    [before, limit],
  );
}
