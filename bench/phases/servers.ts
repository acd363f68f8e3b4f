/** Several servers, each a process of its own, drain one database together. */

import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { inParts, payloads, rate, Seen } from '../measure.ts';
import type { Measured } from '../phase.ts';
import type { Place } from '../queue.ts';
import { openSpineQueue, IN_BATCHES } from '../spine.ts';

export interface ServersOptions {
  readonly servers: number;
  readonly jobs: number;
}

const FILL = 1_000;

export async function servers(
  place: Place,
  options: ServersOptions,
  settle: () => Promise<void>,
): Promise<Measured> {
  const queue = await openSpineQueue(place, IN_BATCHES);
  const fleet: ChildProcess[] = [];
  try {
    // One after another: each warms up on jobs of its own.
    for (let n = 0; n < options.servers; n++) {
      const server = fork(new URL('server.ts', import.meta.url), [JSON.stringify(place)]);
      fleet.push(server);
      await said(server);
    }
    const warm = (await queue.finished?.()) ?? 0;
    for (const part of inParts(payloads(options.jobs), FILL)) await queue.addMany(part);
    await settle();
    const startedMs = performance.now();
    const reports = await Promise.all(
      fleet.map((server) => {
        const report = said(server);
        server.send('drain');
        return report as Promise<number[]>;
      }),
    );
    const endedMs = performance.now();
    const seen = new Seen(options.jobs);
    for (const handled of reports) for (const i of handled) seen.add(i);
    const finished = ((await queue.finished?.()) ?? 0) - warm;
    const problem = finished === options.jobs ? null : `${finished} jobs finished of ${options.jobs}`;
    return { rates: { drain: rate(options.jobs, endedMs - startedMs) }, problem: seen.problem() ?? problem };
  } finally {
    for (const server of fleet) server.disconnect();
    await queue.close();
  }
}

/** The next message of a server; a server that ends instead is an error. */
async function said(server: ChildProcess): Promise<unknown> {
  const ended = once(server, 'exit').then(([code]) => {
    throw new Error(`a server ended with ${String(code)}`);
  });
  const [message] = (await Promise.race([once(server, 'message'), ended])) as [unknown];
  return message;
}
