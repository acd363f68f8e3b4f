import { jobs } from './0001_jobs.ts';
import { tokensAuditSearch } from './0002_tokens_audit_search.ts';
import { scheduler } from './0003_scheduler.ts';
import { leanStates } from './0004_lean_states.ts';
import { feedInFlush } from './0005_feed_in_flush.ts';
import { eventsInFlush } from './0006_events_in_flush.ts';
import { leanIndexes } from './0007_lean_indexes.ts';
import { spawned } from './0008_spawned.ts';
import { typedViews } from './0009_typed_views.ts';
import { scheduleChanges } from './0010_schedule_changes.ts';
import type { Migration } from './migration.ts';

export const MIGRATIONS: readonly Migration[] = [
  jobs,
  tokensAuditSearch,
  scheduler,
  leanStates,
  feedInFlush,
  eventsInFlush,
  leanIndexes,
  spawned,
  typedViews,
  scheduleChanges,
];
