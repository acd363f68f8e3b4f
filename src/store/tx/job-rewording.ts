/** What is asked for in a job, said anew or joined by more. */

import type { Rewording } from '../../domain/command.ts';
import { FIXED_REWORDED } from '../../domain/job-fields.ts';
import { joinedMeta } from '../../domain/meta.ts';
import { inputOf, metaOf } from '../reads/jobs.ts';
import type { Sql } from '../sql/driver.ts';
import { deleteWords, insertWords } from '../sql/search.ts';
import { insertTags } from '../sql/tags.ts';

/** What is said about jobs later joins their meta, each in its turn. Whoever calls has locked the jobs. */
export async function joinMeta(
  sql: Sql,
  edits: readonly { readonly jobNo: number; readonly metadata: string }[],
): Promise<void> {
  for (const { jobNo, metadata } of edits) {
    const joined = joinedMeta(await metaOf(sql, jobNo), metadata);
    await sql.run('update job_input set meta = $2 where job_no = $1', [jobNo, joined]);
  }
}

/** What changes in other ways, too, is written with the rest of the row. */
const SAID_ANEW = `update job set ${FIXED_REWORDED.map(
  ({ column, is }, i) => `${column} = coalesce($${i + 2}${is === 'text' ? '' : ' + 0'}, ${column})`,
).join(', ')} where no = $1`;

/** What is asked for, said anew. Whoever calls has locked the jobs. */
export async function reword(
  sql: Sql,
  edits: readonly { readonly jobNo: number; readonly asked: Rewording }[],
): Promise<void> {
  for (const { jobNo, asked } of edits) {
    const { title = null, description = null, params = null, tags } = asked;
    if (tags !== undefined) await retag(sql, jobNo, tags);
    const row = FIXED_REWORDED.map(({ name }) => asked[name] ?? null);
    if (row.some((value) => value !== null)) await sql.run(SAID_ANEW, [jobNo, ...row]);
    if (title === null && description === null && params === null) continue;
    await sql.run(
      `update job_input set title = coalesce($2, title), description = coalesce($3, description),
         params = coalesce($4, params) where job_no = $1`,
      [jobNo, title, description, params],
    );
    await deleteWords(sql, [jobNo]);
    await insertWords(sql, [{ jobNo, input: await inputOf(sql, jobNo) }]);
  }
}

async function retag(sql: Sql, jobNo: number, tags: readonly string[]): Promise<void> {
  await sql.run('update job_input set tags = $2 where job_no = $1', [
    jobNo,
    tags.length === 0 ? null : JSON.stringify(tags),
  ]);
  await sql.run('delete from job_tag where job_no = $1', [jobNo]);
  await insertTags(sql, [{ jobNo, tags }]);
}
