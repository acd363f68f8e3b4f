/** Types as whoever names them finds them. */

import { SpineError } from '../domain/error.ts';
import { bareType, type JobType, newTypeProblem } from '../domain/job-type.ts';
import type { Tx } from '../store/store.ts';

/** The type of this name. One that nobody has named before is made, when that is no typo and there are not too many. */
export async function typeNamed(tx: Tx, name: string, now: number, meant = false): Promise<JobType> {
  const known = await tx.types.named(name);
  if (known !== null) return known;
  // Whoever makes one takes turns with all others, or they would all find room for the last.
  await tx.types.lockNames();
  const problem = newTypeProblem(name, await tx.types.names(), meant);
  if (problem !== null) throw unknownType(problem);
  return tx.types.save(bareType(name), now);
}

export function unknownType(problem: string, { prefix = '', otherwise = '' } = {}): SpineError {
  const whatToDo = `declare it first, with PUT /types/:name${otherwise}`;
  return new SpineError('bad_request', {
    field: `${prefix}type`,
    problem: `${prefix}${problem}; ${whatToDo}`,
  });
}
