/** Questions that jobs wait for: asked once, answered once. */

import type { Question } from '../../domain/question.ts';
import { locking, perDialect, type Sql } from '../sql/driver.ts';
import { first } from '../sql/rows.ts';
import { insertInto } from '../sql/table.ts';
import { QUESTION } from '../sql/tables.ts';
import { closeMailOf } from './question-mail.ts';

const NEW = QUESTION.unnumbered();

export function insert(sql: Sql, questions: readonly Omit<Question, 'no'>[]) {
  return insertInto(sql, NEW, questions);
}

const locked = perDialect(
  (dialect) => `select ${QUESTION.selected} from question where id = $1${locking({ dialect }, 'for update')}`,
);

export async function lock(sql: Sql, id: string): Promise<Question | null> {
  const row = await first(sql, locked(sql), [id]);
  return row && QUESTION.from(row);
}

type End = Pick<Question, 'status' | 'answer' | 'answeredBy' | 'answeredAt'>;

/** Whatever came first counts. To the agent that was asked it is no news any more. */
export async function end(
  sql: Sql,
  id: string,
  { status, answer, answeredBy, answeredAt }: End,
  now: number,
): Promise<void> {
  const text = `update question set status = $2, answer = $3, answered_by = $4, answered_at = $5
    where id = $1 and status = 'open'`;
  await sql.run(text, [id, status, answer, answeredBy, answeredAt]);
  await closeMailOf(sql, id, now);
}
