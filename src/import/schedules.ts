/** Schedules as their files tell them, for a rebuild without a journal. */

import { readdir } from 'node:fs/promises';
import path from 'node:path';
import type { ScheduleSpec } from '../domain/schedule.ts';
import { completeSchedule, isSpecKey, SCHEDULE_FIELDS } from '../domain/schedule-draft.ts';
import type { ScheduleFacts } from '../files/journal-line.ts';
import type { Store } from '../store/store.ts';
import { putSchedules } from './rebuild-schedules.ts';
import { type Fields, readFields, textOf, timeOf, wholeOf } from './v0-files.ts';

/** After the jobs. Answers how many there are, and the files that are none. */
export async function importSchedules(
  dir: string,
  store: Store,
  now: number,
): Promise<{ count: number; unreadable: string[] }> {
  const folder = path.join(dir, 'schedules');
  const found: ScheduleFacts[] = [];
  const unreadable: string[] = [];
  for (const file of (await readdir(folder).catch(() => [])).filter((name) => name.endsWith('.json'))) {
    const fields = await readFields(path.join(folder, file));
    const facts = typeof fields === 'string' ? fields : factsOf(fields);
    if (typeof facts === 'string') unreadable.push(`schedules/${file} (${facts})`);
    else found.push(facts);
  }
  found.sort((a, b) => a.createdAt - b.createdAt || a.no - b.no);
  return { count: await putSchedules(store, found, now), unreadable };
}

/** A reason instead when the file cannot be used. */
function factsOf(fields: Fields): ScheduleFacts | string {
  const no = wholeOf(fields['no']);
  const id = textOf(fields['id']);
  const createdAt = timeOf(fields['created_at']);
  if (no === null || id === null || createdAt === null) return 'not a schedule';
  const spec = specOf(fields, createdAt);
  if (typeof spec === 'string') return spec;
  const enabled = fields['enabled'] !== false;
  const createdBy = textOf(fields['created_by']) ?? 'unknown';
  const spawnedBy = textOf(fields['spawned_by']);
  const runCount = wholeOf(fields['run_count']) ?? 0;
  return { no, id, spec, enabled, createdAt, createdBy, spawnedBy, runCount };
}

/** Read as the door would read it, because anybody may have changed the file. What was allowed once is allowed here. */
function specOf(fields: Fields, createdAt: number): ScheduleSpec | string {
  const names = SCHEDULE_FIELDS.filter(
    ({ key, name }) => (isSpecKey(key) || key === 'enabled') && name in fields,
  );
  const draft = Object.fromEntries(names.map(({ name }) => [name, fields[name]]));
  // Its one moment may have passed since.
  const now = Math.min(createdAt, timeOf(fields['schedule_at']) ?? createdAt);
  const gateways = [textOf(fields['gateway']) ?? 'main'];
  const read = completeSchedule(draft, null, { now, shellAllowed: true, gateways });
  return read.ok ? read.spec : read.problem;
}
