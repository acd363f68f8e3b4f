/** The Spine door: v0's routes word for word, and the native ones beside them. */

import { describeApi } from '../openapi.ts';
import type { Described, Row } from '../routes.ts';
import { schedulerRoutes, schedulerRows } from './scheduler.ts';
import { adminRows } from './spine-admin.ts';
import { blobRows } from './spine-blobs.ts';
import { claimRows } from './spine-claims.ts';
import { eventRows } from './spine-events.ts';
import { jobRows } from './spine-jobs.ts';
import { leaseRows } from './spine-leases.ts';
import { numberRows } from './spine-numbers.ts';
import { publicRows } from './spine-public.ts';
import { tokenRows } from './spine-tokens.ts';

const aboutJobs = [...publicRows, ...jobRows, ...claimRows, ...leaseRows];
const aboutAll = [...eventRows, ...numberRows, ...adminRows, ...tokenRows];

/** All that take JSON or nothing. */
export const spineRows: readonly Row[] = [...aboutJobs, ...aboutAll, ...schedulerRows];

/** Every route of the door, those of files too. */
export const spineRoutes: readonly Described[] = [...aboutJobs, ...blobRows, ...aboutAll, ...schedulerRoutes];

export function describeSpine(version: string): Record<string, unknown> {
  return describeApi(spineRoutes, version);
}
