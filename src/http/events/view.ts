/** An event as it is shown, in a job's history and in the feed alike. */

import type { JobEvent } from '../../domain/event.ts';
import { iso } from '../iso.ts';
import { withIsoTimes } from '../times.ts';

/** `traceparent` is that of its job. */
export function eventView({ seq, at, kind, by, facts }: JobEvent, traceparent: string | null): object {
  const fixed = { seq, t: iso(at), type: kind, by, ...(traceparent !== null && { traceparent }) };
  return { ...fixed, ...withIsoTimes(facts ?? {}), ...fixed };
}
