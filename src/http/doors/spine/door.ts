/** The Spine door: v0's routes word for word, and the native ones beside them. */

import { SPINE_STATUS_OF } from '../../../domain/statuses.ts';
import { bearerTokens } from '../../auth.ts';
import type { Door } from '../../door.ts';
import { nativeErrors } from '../../errors.ts';
import { REPLAYED } from '../../idempotency.ts';
import { adminRoutes } from './admin.ts';
import { NAMED_ANSWERS } from './answers.ts';
import { blobRoutes } from './blobs.ts';
import { bulkRoutes } from './bulk.ts';
import { claimRoutes } from './claims.ts';
import { eventRoutes } from './events.ts';
import { historyRoutes } from './history.ts';
import { jobRoutes } from './jobs.ts';
import { leaseRoutes } from './leases.ts';
import { meRoutes } from './me.ts';
import { metricRoutes } from './metrics.ts';
import { pageRoutes } from './pages.ts';
import { publicRoutes } from './public.ts';
import { questionRoutes } from './questions.ts';
import { NewJob } from './new-job.ts';
import { tokenRoutes } from './tokens.ts';
import { usageRoutes } from './usage.ts';
import { userRoutes } from './users.ts';

export const spine: Door = {
  name: 'spine',
  prefixes: ['/'],
  routes: [
    ...publicRoutes,
    ...meRoutes,
    ...pageRoutes,
    ...jobRoutes,
    ...bulkRoutes,
    ...historyRoutes,
    ...claimRoutes,
    ...leaseRoutes,
    ...questionRoutes,
    ...blobRoutes,
    ...eventRoutes,
    ...metricRoutes,
    ...adminRoutes,
    ...tokenRoutes,
    ...userRoutes,
    ...usageRoutes,
  ],
  auth: bearerTokens,
  errors: nativeErrors,
  statusOf: SPINE_STATUS_OF,
  tags: [
    { name: 'jobs', about: 'Jobs: make, claim, do, end, read and steer them.', starts: ['/jobs', '/bulks'] },
    { name: 'questions', about: 'What jobs have asked, and the answers.', starts: ['/questions'] },
    { name: 'files', about: 'Files, as artifacts of jobs or by themselves.', starts: ['/blobs'] },
    {
      name: 'events',
      about: 'What happens, as it happens, and numbers of it.',
      starts: ['/events', '/stats', '/metrics'],
    },
    {
      name: 'types',
      about: 'Kinds of work, pools, and what is paused.',
      starts: ['/types', '/pools', '/pauses', '/targets', '/providers', '/doors'],
    },
    {
      name: 'admin',
      about: 'Tokens, users, settings and the record of who did what.',
      starts: ['/me', '/tokens', '/users', '/audit', '/config'],
    },
    { name: 'server', about: 'The server itself: is it well, and what can it do.' },
  ],
  answerHeaders: [REPLAYED, 'x-truncated'],
  schemas: { ...NAMED_ANSWERS, NewJob },
};
