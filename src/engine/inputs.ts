/** What the jobs that a job waited for have made: their results are its inputs. */

import { type Job, rootOf } from '../domain/job.ts';
import { LIMITS } from '../domain/limits.ts';
import type { Store } from '../store/store.ts';

/** By the ids of the jobs that were waited for, each the first of its lineage. */
export interface Inputs {
  /** As JSON; null where there is no result. */
  readonly results: readonly { readonly id: string; readonly result: string | null }[];
  /** Those whose results would not fit. */
  readonly leftOut: readonly string[];
}

/** Of jobs that have waited for others. What there is of each is measured before it is read. */
export async function inputsOf(read: Store['read'], jobs: readonly Job[]): Promise<Map<number, Inputs>> {
  const sizes = await read.dependencies.inputSizes([...new Set(jobs.map(rootOf))]);
  const byRoot = Map.groupBy(sizes, ({ jobNo }) => jobNo);
  const found = new Map<number, Inputs>();
  for (const job of jobs) {
    let bytes = 0;
    const wanted = byRoot.get(rootOf(job)) ?? [];
    const fits = new Set(wanted.filter((one) => (bytes += one.bytes) <= LIMITS.inputsBytes));
    const kept = wanted.filter((one) => fits.has(one) && one.bytes > 0);
    const results = await read.dependencies.results(kept.map(({ lastNo }) => lastNo));
    found.set(job.no, {
      results: wanted
        .filter((one) => fits.has(one))
        .map(({ parentId, lastNo }) => ({ id: parentId, result: results.get(lastNo) ?? null })),
      leftOut: wanted.filter((one) => !fits.has(one)).map(({ parentId }) => parentId),
    });
  }
  return found;
}
