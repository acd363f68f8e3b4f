import { setTimeout as sleep } from 'node:timers/promises';
import { startServer } from '../test/support/server.ts';
import { percentile, rounded } from './measure.ts';
import { residentMb } from './process.ts';
import { type ProofReport, report } from './report.ts';
import type { ProofStore } from './stores.ts';

const READY_LIMIT_MS = 3_000;
const IDLE_LIMIT_MB = 120;
const IDLE_AFTER_MS = 3_000;

/** A server is ready soon after its start and takes little memory while nobody calls. */
export async function proveStart(
  store: ProofStore,
  { starts }: { readonly starts: number },
): Promise<ProofReport> {
  const startedMs = performance.now();
  const firstMs = performance.now();
  // The first start makes the tables too.
  await using server = await startServer(store.server);
  const timesMs = [performance.now() - firstMs];
  for (let done = 1; done < starts; done++) timesMs.push(await server.restart());
  await sleep(IDLE_AFTER_MS);
  const idleMb = residentMb(server.pid);
  const slow = timesMs.filter((ms) => ms > READY_LIMIT_MS);
  const violations = slow.map((ms) => `a start took ${rounded(ms)} ms`);
  if (idleMb !== undefined && idleMb > IDLE_LIMIT_MB) violations.push(`an idle server takes ${idleMb} MB`);
  const maxMs = rounded(Math.max(...timesMs));
  return report({
    proof: 'start',
    store: store.kind,
    summary: `first start ${rounded(timesMs[0] ?? 0)} ms, ${starts} starts p50 ${rounded(percentile(timesMs, 0.5))} ms, max ${maxMs} ms, idle ${idleMb ?? '?'} MB`,
    counts: { starts, startMaxMs: maxMs, ...(idleMb === undefined ? {} : { idleMb }) },
    violations,
    startedMs,
  });
}
