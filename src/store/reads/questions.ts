/** Questions that jobs asked, and what was answered. */

import type { Answered, Asker, QuestionFilter, QuestionRecord } from '../../domain/question.ts';
import { type Row, type Sql, type Value } from '../sql/driver.ts';
import { column, first, only } from '../sql/rows.ts';
import { QUESTION } from '../sql/tables.ts';

const RECORD = `select ${QUESTION.selected}, job.id, job.target, input.title from question
  join job on job.no = question.job_no join job_input input on input.job_no = question.job_no`;

function recordFrom(row: Row): QuestionRecord {
  const [jobId, target, title] = row.slice(QUESTION.width);
  return {
    ...QUESTION.from(row),
    jobId: jobId as string,
    target: target as string,
    title: title as string | null,
  };
}

export async function byId(sql: Sql, id: string): Promise<QuestionRecord | null> {
  const row = await first(sql, `${RECORD} where question.id = $1`, [id]);
  return row && recordFrom(row);
}

/** The one that ended this lease. Served by question_by_job. */
export async function ofLease(sql: Sql, jobNo: number, leaseToken: string): Promise<QuestionRecord | null> {
  const row = await first(sql, `${RECORD} where question.job_no = $1 and question.lease_token = $2`, [
    jobNo,
    leaseToken,
  ]);
  return row && recordFrom(row);
}

/** Newest first. Served by question_open, question_by_job and question_by_recipient. */
export async function list(sql: Sql, filter: QuestionFilter): Promise<QuestionRecord[]> {
  const params: Value[] = [];
  const bind = (value: Value): string => `$${params.push(value)}`;
  const where = ['question.no > 0'];
  if (filter.open !== undefined) where.push(`question.status ${filter.open ? '=' : '<>'} 'open'`);
  if (filter.to !== undefined) where.push(`question.recipient = ${bind(filter.to)}`);
  if (filter.jobNo !== undefined) where.push(`question.job_no = ${bind(filter.jobNo)}`);
  if (filter.before !== undefined) where.push(`question.no < ${bind(filter.before)}`);
  if (filter.targets !== null) {
    const served = filter.targets.map((target) => `job.target = ${bind(target)}`);
    where.push(`(${[...served, `question.recipient = ${bind(filter.reader)}`].join(' or ')})`);
  }
  const text = `${RECORD} where ${where.join(' and ')} order by question.no desc limit ${bind(filter.limit)} + 0`;
  return (await sql.all(text, params)).map(recordFrom);
}

const answers = `select body, answer, answered_by, answered_at from question
  where root_no = $1 and status = 'answered' order by no desc limit $2 + 0`;

/** What the newest questions of a lineage were answered, newest first. Served by question_by_root. */
export async function answersOf(sql: Sql, rootNo: number, limit: number): Promise<Answered[]> {
  return (await sql.all(answers, [rootNo, limit])).map(([text, answer, answeredBy, answeredAt]) => ({
    text: text as string,
    answer: answer as string,
    answeredBy: answeredBy as string,
    answeredAt: answeredAt as number,
  }));
}

/** Counted no further than `most`. Served by question_by_asker, or by question_open. */
export function countOpenOf(sql: Sql, { name, scheduleId, to }: Asker, most: number): Promise<number> {
  const open =
    scheduleId === null
      ? "select 1 from question where asked_by = $1 and status = 'open'"
      : `select 1 from question join job on job.no = question.job_no
         where question.status = 'open' and job.schedule_id = $1`;
  const there = to === undefined ? '' : ' and question.recipient = $3';
  const text = `select count(*) from (${open}${there} limit $2 + 0) as open`;
  return only<number>(sql, text, [scheduleId ?? name, most, ...(to === undefined ? [] : [to])]);
}

/** The ids of those that nobody answered in time. */
export function expired(sql: Sql, now: number, limit: number): Promise<string[]> {
  const text =
    "select id from question where status = 'open' and expires_at <= $1 order by expires_at limit $2 + 0";
  return column<string>(sql, text, [now, limit]);
}
