/** The Spine door: v0's routes word for word, and the native ones beside them. */

import type { Row } from '../routes.ts';
import { adminRows } from './spine-admin.ts';
import { jobRows } from './spine-jobs.ts';
import { leaseRows } from './spine-leases.ts';

export const spineRows: readonly Row[] = [...jobRows, ...leaseRows, ...adminRows];
