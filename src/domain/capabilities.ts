/** What a job requires of whoever does it, and what a claimer says it can do. */

import type { Job } from './job.ts';

/** What the job requires and the claimer does not have. */
export function missingCapabilities(job: Pick<Job, 'requires'>, capabilities: readonly string[]): string[] {
  return job.requires === null ? [] : requiredBy(job.requires).filter((one) => !capabilities.includes(one));
}

/** Before every set of requirements, as rows keep them. */
export const FIRST_SET = '[';

/**
 * A set was found; where the next one may stand that can be met, in the order of their texts, or null when there is none.
 * Whole families that begin with something the claimer does not have are passed over with one step: nobody's many jobs
 * hide the few that a claimer is there for.
 */
export function nextSet(found: string, capabilities: readonly string[]): string | null {
  const required = requiredBy(found);
  const at = required.findIndex((one) => !capabilities.includes(one));
  // Nothing stands between a set and what goes on behind its last bracket.
  if (at === -1) return `${found} `;
  const before = required.slice(0, at).map((one) => JSON.stringify(one));
  const lacking = JSON.stringify(required[at]);
  const [next] = capabilities
    .map((one) => JSON.stringify(one))
    .filter((one) => comesBefore(lacking, one))
    .toSorted((one, other) => (comesBefore(one, other) ? -1 : 1));
  if (next !== undefined) return `[${[...before, next].join(',')}`;
  // A bracket comes after a comma: the set that ends here stands behind all that go on.
  return at === 0 ? null : `[${before.join(',')}]`;
}

/** In the order of both databases, which is that of the bytes. */
function comesBefore(one: string, other: string): boolean {
  return Buffer.compare(Buffer.from(one), Buffer.from(other)) < 0;
}

function requiredBy(requires: string): readonly string[] {
  return JSON.parse(requires) as string[];
}
