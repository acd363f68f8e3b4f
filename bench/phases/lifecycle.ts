/** Each caller creates a job, then claims one and completes it, for a fixed time: three requests a job. */

import { startServer } from '../../test/support/server.ts';
import { inFlight, payload, rate } from '../measure.ts';
import type { Measured } from '../phase.ts';
import type { Place } from '../queue.ts';
import { callersOf, claim, complete, create, states } from '../spine-http.ts';

export interface LifecycleOptions {
  readonly width: number;
  readonly ms: number;
  /** SPINE_FILES of the server. */
  readonly files: 'on' | 'off';
  /** Further settings of it. */
  readonly env?: Readonly<Record<string, string>>;
}

const WARM_UP_JOBS = 2_000;

export async function lifecycle(
  place: Place,
  { width, ms, files, env }: LifecycleOptions,
): Promise<Measured> {
  const server = await startServer({ dataDir: place.folder, env: { SPINE_FILES: files, ...env } });
  try {
    const callers = callersOf(server, width);
    const job = async (i: number): Promise<void> => {
      await create(callers, payload(i));
      for (const claimed of await claim(callers, 1)) await complete(callers, claimed);
    };
    const warm = await inFlight(width, (made) => made < WARM_UP_JOBS, job);
    const startedMs = performance.now();
    const made = await inFlight(width, () => performance.now() - startedMs < ms, job);
    const takenMs = performance.now() - startedMs;
    const { done } = await states(callers);
    const problem = done === warm + made ? null : `${done} jobs done of ${warm + made}`;
    return { rates: { jobs: rate(made, takenMs) }, problem };
  } finally {
    await server.kill();
  }
}
