/**
 * The data model: one table for each noun, with the reason for it above and what its columns mean beside them. Both
 * databases have the same tables, columns and indexes, so that one SQL text reads and writes both.
 */

import { type Dialect, POSTGRES, SQLITE } from './baseline/dialect.ts';
import { delivery } from './baseline/delivery.ts';
import { events } from './baseline/events.ts';
import { failures } from './baseline/failures.ts';
import { installation } from './baseline/installation.ts';
import { jobs } from './baseline/jobs.ts';
import { questions } from './baseline/questions.ts';
import { queue } from './baseline/queue.ts';
import { scheduler } from './baseline/scheduler.ts';
import { taskData } from './baseline/task-data.ts';
import { views } from './baseline/views.ts';
import { workers } from './baseline/workers.ts';
import type { Migration } from './migration.ts';

const PARTS = [
  jobs,
  events,
  queue,
  scheduler,
  installation,
  delivery,
  questions,
  workers,
  failures,
  taskData,
  views,
];

function schemaIn(dialect: Dialect): string {
  return PARTS.map((part) => part(dialect)).join('');
}

export const baseline: Migration = {
  version: 1,
  name: 'baseline',
  breaking: true,
  sqlite: schemaIn(SQLITE),
  postgres: schemaIn(POSTGRES),
};
