/** What runs said, for those of their schedule that come after them. */

import type { RunSummary } from '../../domain/run.ts';
import type { Shape, Sql } from '../sql/driver.ts';
import { deleteSummaryWords, saveSummaryWords } from '../sql/summary-words.ts';

const SUMMARY: Shape = {
  table: 'run_summary',
  columns: [
    ['job_no', 'bigint'],
    ['schedule_id', 'text'],
    ['finished_at', 'bigint'],
    ['summary', 'text'],
  ],
  onConflict:
    'on conflict (job_no) do update set finished_at = excluded.finished_at, summary = excluded.summary',
};

/** Two servers may sum up the same runs: both write the same. */
export async function save(sql: Sql, summaries: readonly RunSummary[]): Promise<void> {
  await sql.insert(
    SUMMARY,
    summaries.map((each) => [each.jobNo, each.scheduleId, each.finishedAt, each.summary]),
  );
  const [silent, telling] = [
    summaries.filter(({ summary }) => summary === ''),
    summaries.filter(({ summary }) => summary !== ''),
  ];
  await deleteSummaryWords(
    sql,
    silent.map(({ jobNo }) => jobNo),
  );
  await saveSummaryWords(sql, telling);
}
