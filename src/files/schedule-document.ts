/** A schedule as its file shows it: the names of the scheduler's door, and its number. */

import { isoTime } from '../domain/iso-time.ts';
import type { Schedule } from '../domain/schedule.ts';
import { toSnake } from '../domain/schedule-draft.ts';
import { scheduleInWords } from '../domain/schedule-words.ts';

export function scheduleDocument(schedule: Schedule, queuedCount: number): string {
  const { id, no, enabled, spec } = schedule;
  const fields = {
    id,
    no,
    enabled,
    ...toSnake(spec),
    rule: scheduleInWords(schedule, null),
    next_run_at: isoOrNull(schedule.nextRunAt),
    last_run_at: isoOrNull(schedule.lastRunAt),
    last_status: schedule.lastStatus,
    consecutive_errors: schedule.consecutiveErrors,
    run_count: schedule.runCount,
    queued_count: queuedCount,
    created_at: isoOrNull(schedule.createdAt),
    created_by: schedule.createdBy,
    updated_at: isoOrNull(schedule.updatedAt),
    spawned_by: schedule.spawnedBy,
  };
  return `${JSON.stringify(fields, null, 2)}\n`;
}

function isoOrNull(ms: number | null): string | null {
  return ms === null ? null : isoTime(ms);
}
