/** How long an idle Spine takes from a head's POST /jobs to the answer of a worker's waiting claim. */

import { setTimeout as sleep } from 'node:timers/promises';
import { startServer } from '../../test/support/server.ts';
import { payload, quantile } from '../measure.ts';
import type { Measured } from '../phase.ts';
import { type Place, urlOf } from '../queue.ts';
import { type Callers, callersOf, claim, complete, create, states } from '../spine-http.ts';

export interface LatencyOptions {
  readonly store: 'sqlite' | 'postgres';
  /** With two, one takes the job and the other hands it out. */
  readonly servers: 1 | 2;
  readonly samples: number;
}

/** Servers run for days, with their code compiled. */
const WARM_UPS_PER_SAMPLE = 5;
const WAIT_MS = 30_000;
/** Long enough for the worker to be waiting again. */
const GAP_MS = 5;
const RANDOM_GAP_MS = 25;

export async function latency(place: Place, options: LatencyOptions): Promise<Measured> {
  const database = options.store === 'postgres' ? { databaseUrl: urlOf(place) } : {};
  const first = await startServer(database);
  const second = options.servers === 2 ? await startServer(database) : first;
  try {
    const callers: Callers = { head: callersOf(first, 2).head, worker: callersOf(second, 2).worker };
    const taken: number[] = [];
    const warmUps = WARM_UPS_PER_SAMPLE * options.samples;
    let strangers = 0;
    for (let i = 0; i < warmUps + options.samples; i++) {
      const waiting = claim(callers, 1, WAIT_MS);
      await sleep(i < warmUps ? GAP_MS : GAP_MS + Math.random() * RANDOM_GAP_MS);
      const startedMs = performance.now();
      const handedOut = waiting.then((jobs) => ({ jobs, ms: performance.now() - startedMs }));
      const id = await create(callers, payload(i));
      const { jobs, ms } = await handedOut;
      const [job] = jobs;
      if (job?.id !== id) strangers++;
      if (job !== undefined) await complete(callers, job);
      if (i >= warmUps) taken.push(ms);
    }
    const { done } = await states(callers);
    const right = strangers === 0 && done === warmUps + options.samples;
    return {
      rates: { p50: quantile(taken, 0.5), p99: quantile(taken, 0.99) },
      problem: right ? null : `${done} jobs done, ${strangers} handed out in another's place`,
    };
  } finally {
    await first.stop();
    if (second !== first) await second.stop();
  }
}
