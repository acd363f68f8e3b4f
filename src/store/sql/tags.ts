/** Tags have a table of their own, so that a list can be drawn by one. */

import type { Row, Shape, Sql } from './driver.ts';

const TAG: Shape = {
  table: 'job_tag',
  columns: [
    ['tag', 'text'],
    ['job_no', 'bigint'],
  ],
  onConflict: 'on conflict do nothing',
};

export async function insertTags(
  sql: Sql,
  rows: readonly { jobNo: number; tags: readonly string[] }[],
): Promise<void> {
  const tags = rows.flatMap(({ jobNo, tags }) => tags.map((tag): Row => [tag, jobNo]));
  if (tags.length > 0) await sql.insert(TAG, tags);
}
