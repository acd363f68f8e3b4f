/** Which jobs a list is to show. */

import type { FieldFilter } from './job-fields.ts';
import type { Job, State } from './job.ts';

export interface ListFilter extends FieldFilter {
  readonly states: readonly State[];
  readonly targets: readonly string[] | null;
  readonly typeNo: number | null;
  readonly tag: string | null;
  /** Only members of a retry lineage after its first. */
  readonly retries?: boolean;
  readonly order: 'oldest' | 'newest';
  /** Only jobs after (oldest) or before (newest) this number. */
  readonly from: number | null;
  readonly limit: number;
}

export interface Found {
  readonly jobs: readonly Job[];
  /** The `from` of the next page; null when there is none. */
  readonly next: number | null;
}
