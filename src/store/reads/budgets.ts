/** What types may take in a day. */

import type { Budget } from '../../domain/budget.ts';
import type { Sql } from '../sql/driver.ts';
import { BUDGET } from '../sql/tables.ts';

export async function all(sql: Sql): Promise<Budget[]> {
  const rows = await sql.all(`select ${BUDGET.selected} from budget order by type_no`, []);
  return rows.map((row) => BUDGET.from(row));
}
