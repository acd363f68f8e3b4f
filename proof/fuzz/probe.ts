import { setTimeout as sleep } from 'node:timers/promises';
import type { TestServer } from '../../test/support/server.ts';

const PROBE_EVERY_MS = 25;
const PROBE_LIMIT_MS = 2_000;

export interface Probe {
  readonly failures: readonly string[];
  /** Ends the probing and gives the latencies. */
  stop(): Promise<number[]>;
}

/** Asks for /health all the while, as a bystander whom the noise must not touch. */
export function startProbe(server: TestServer): Probe {
  const latencies: number[] = [];
  const failures: string[] = [];
  const stopping = new AbortController();

  async function probe(): Promise<void> {
    while (!stopping.signal.aborted) {
      const startedMs = performance.now();
      const status = await server.anyone.get('/health', { timeoutMs: PROBE_LIMIT_MS }).then(
        (answer) => answer.status,
        (problem: Error) => problem.message,
      );
      latencies.push(performance.now() - startedMs);
      if (status !== 200) failures.push(`health answered ${status}`);
      await sleep(PROBE_EVERY_MS);
    }
  }

  const probing = probe();
  return {
    failures,
    stop: async () => {
      stopping.abort();
      await probing;
      return latencies;
    },
  };
}
