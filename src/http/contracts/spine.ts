/** The Spine door: v0's routes word for word, and the native ones beside them. */

import { describeApi } from '../openapi.ts';
import type { Described, Row } from '../routes.ts';
import { adminRows } from './spine-admin.ts';
import { blobRows } from './spine-blobs.ts';
import { eventRows } from './spine-events.ts';
import { jobRows } from './spine-jobs.ts';
import { leaseRows } from './spine-leases.ts';
import { numberRows } from './spine-numbers.ts';
import { publicRows } from './spine-public.ts';
import { tokenRows } from './spine-tokens.ts';

/** All that take JSON or nothing. */
export const spineRows: readonly Row[] = [
  ...publicRows,
  ...jobRows,
  ...leaseRows,
  ...eventRows,
  ...numberRows,
  ...adminRows,
  ...tokenRows,
];

/** Every route of the door; those of files stand with the other routes of jobs. */
export const spineRoutes: readonly Described[] = [...spineRows, ...blobRows];

export function describeSpine(version: string): Record<string, unknown> {
  return describeApi(spineRoutes, version);
}
