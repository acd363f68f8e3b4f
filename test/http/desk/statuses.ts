/** What the desk calls the states of a job. */

import type { StatusOf } from '../../../src/domain/statuses.ts';

export const DESK_STATUSES = ['open', 'with-somebody', 'closed'] as const;

export const DESK_STATUS_OF: StatusOf<(typeof DESK_STATUSES)[number]> = {
  scheduled: 'open',
  blocked: 'open',
  awaiting_approval: 'open',
  queued: 'open',
  running: 'with-somebody',
  done: 'closed',
  failed: 'closed',
  dead: 'closed',
  cancelled: 'closed',
  skipped: null,
};
