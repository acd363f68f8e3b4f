/** Deliveries, and what became of them. */

import type { Delivery, DeliveryFilter } from '../../domain/delivery.ts';
import type { Sql, Value } from '../sql/driver.ts';
import { first, only } from '../sql/rows.ts';
import { DELIVERY } from '../sql/tables.ts';

export async function byId(sql: Sql, id: string): Promise<Delivery | null> {
  const row = await first(sql, `select ${DELIVERY.selected} from delivery where id = $1`, [id]);
  return row && DELIVERY.from(row);
}

/** Newest first. */
export async function list(sql: Sql, filter: DeliveryFilter): Promise<Delivery[]> {
  const params: Value[] = [];
  const bind = (value: Value): string => `$${params.push(value)}`;
  const job = filter.jobNo === undefined ? '' : ` and job_no = ${bind(filter.jobNo)}`;
  const status = filter.status === undefined ? '' : ` and status = ${bind(filter.status)}`;
  const before = filter.before === undefined ? '' : ` and no < ${bind(filter.before)}`;
  const text = `select ${DELIVERY.selected} from delivery where no > 0${job}${status}${before} order by no desc limit ${bind(filter.limit)} + 0`;
  return (await sql.all(text, params)).map((row) => DELIVERY.from(row));
}

/** When an address is to be looked at next; null when nothing waits. */
export function nextAt(sql: Sql): Promise<number | null> {
  return only<number | null>(sql, 'select min(run_at) from delivery_address', []);
}
