/** What jobs that are already there cost each verb: enqueue, claim and complete, one by one, 50 in flight, in process. */

import { inFlight, inParts, payload, payloads, perSecond } from '../measure.ts';
import type { Measured } from '../phase.ts';
import type { Place } from '../queue.ts';
import { CLAW, draft, HEAD, openSpine, warmUp } from '../spine.ts';

export interface BacklogOptions {
  readonly queued: number;
  readonly jobs: number;
}

const WIDTH = 50;
const FILL = 1_000;
const WARM_UP_JOBS = 5_000;
/** Fills are made in pieces, so that a million inputs never lie in memory at once. */
const PIECE = 50_000;

export async function backlog(place: Place, options: BacklogOptions): Promise<Measured> {
  const { engine, close } = await openSpine(place);
  const { queued, jobs } = options;
  const each = (call: (i: number) => Promise<unknown>): Promise<number> =>
    perSecond(() => inFlight(WIDTH, (made) => made < jobs, call));
  const held = new Map<string, string | null>();
  try {
    await warmUp(engine, WARM_UP_JOBS);
    for (let from = 0; from < queued; from += PIECE) {
      const piece = payloads(Math.min(PIECE, queued - from), from);
      for (const part of inParts(piece, FILL)) await engine.jobs.create(HEAD, part.map(draft));
    }
    const enqueue = await each((i) => engine.jobs.create(HEAD, [draft(payload(queued + i))]));
    const claim = await each(async () => {
      const claimed = await engine.leases.claimNext(CLAW, { targets: ['left-claw'], max: 1, waitMs: 0 });
      for (const { job } of claimed) held.set(job.id, job.leaseToken);
    });
    const leases = [...held];
    const complete = await each(async (i) => {
      const [id, leaseToken] = leases[i] ?? ['', null];
      await engine.leases.complete(CLAW, id, leaseToken, null);
    });
    const counts = await engine.counts();
    const count = (state: string): number => counts.find((each) => each.state === state)?.n ?? 0;
    const right = count('done') === WARM_UP_JOBS + jobs && count('queued') === queued;
    const problem = right ? null : `${count('done')} jobs done, ${count('queued')} queued`;
    return { rates: { enqueue, claim, complete }, problem };
  } finally {
    await close();
  }
}
