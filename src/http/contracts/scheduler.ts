/** The scheduler's door: schedules, runs, approvals and messages, under the names of its text. */

import type { Described, Row } from '../routes.ts';
import { NewSchedule, ScheduleBody, ScheduleChange } from '../scheduler-schemas.ts';
import { approvalRows } from './scheduler-approvals.ts';
import { messageRows } from './scheduler-messages.ts';
import { runRows } from './scheduler-runs.ts';
import { scheduleRows } from './scheduler-schedules.ts';
import { steeringRows } from './scheduler-steering.ts';

export const schedulerRows: readonly Row[] = [
  ...scheduleRows,
  ...steeringRows,
  ...runRows,
  ...approvalRows,
  ...messageRows,
];

/** The same routes with the fields that the domain takes, where a row leaves them to it. */
export const schedulerRoutes: readonly Described[] = schedulerRows.map((row) =>
  row.body === ScheduleBody ? { ...row, body: row.method === 'POST' ? NewSchedule : ScheduleChange } : row,
);
