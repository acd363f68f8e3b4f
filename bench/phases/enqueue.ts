/** One job a call, so many calls in flight, for a fixed time. */

import { inFlight, payload, perSecond } from '../measure.ts';
import type { Measured } from '../phase.ts';
import type { Queue } from '../queue.ts';

export interface EnqueueOptions {
  readonly width: number;
  readonly ms: number;
}

const WARM_UP_JOBS = 2_000;

export async function enqueue(queue: Queue, options: EnqueueOptions): Promise<Measured> {
  const add = (i: number): unknown => queue.add(payload(i));
  const warm = await inFlight(options.width, (made) => made < WARM_UP_JOBS, add);
  let made = 0;
  const rate = await perSecond(async () => {
    const endMs = performance.now() + options.ms;
    made = await inFlight(options.width, () => performance.now() < endMs, add);
    return made;
  });
  const stored = await queue.left();
  const problem = stored === warm + made ? null : `${stored} jobs stored of ${warm + made}`;
  return { rates: { enqueue: rate }, problem };
}
