/** Claims and completes every job of a filled queue, counted until the store says that none is left. */

import { setTimeout as sleep } from 'node:timers/promises';
import { inParts, payloads, rate, Seen } from '../measure.ts';
import type { Measured } from '../phase.ts';
import type { Queue } from '../queue.ts';

export interface DrainOptions {
  readonly jobs: number;
}

const FILL = 1_000;

export async function drain(
  queue: Queue,
  options: DrainOptions,
  settle: () => Promise<void>,
): Promise<Measured> {
  for (const part of inParts(payloads(options.jobs), FILL)) await queue.addMany(part);
  await queue.settled?.();
  await settle();
  const seen = new Seen(options.jobs);
  let startedMs = Number.NaN;
  // The clock starts when half is done, for everybody alike: servers run for days, with their code compiled.
  const warm = Math.floor(options.jobs / 2);
  const worker = await new Promise<{ stop(): Promise<void> }>((resolve, reject) => {
    const started = queue.work((input) => {
      if (seen.count === warm) startedMs = performance.now();
      seen.add(input.i);
      if (seen.count === options.jobs) resolve(started);
    });
    started.catch(reject);
  });
  while ((await queue.left()) > 0) await sleep(1);
  const endedMs = performance.now();
  await worker.stop();
  const finished = (await queue.finished?.()) ?? options.jobs;
  const problem = finished === options.jobs ? null : `${finished} jobs finished of ${options.jobs}`;
  return {
    rates: { drain: rate(options.jobs - warm, endedMs - startedMs) },
    problem: seen.problem() ?? problem,
  };
}
