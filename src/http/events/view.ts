/** An event as it is shown, in a job's history and in the feed alike. */

import type { JobEvent } from '../../domain/event.ts';
import { iso } from '../iso.ts';
import { withIsoTimes } from '../times.ts';

export function eventView({ seq, at, kind, by, facts }: JobEvent): object {
  const fixed = { seq, t: iso(at), type: kind, by };
  return { ...fixed, ...withIsoTimes(facts ?? {}), ...fixed };
}
