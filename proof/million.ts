import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { JobBody } from '../test/support/http.ts';
import { type ServerOptions, startServer, type TestServer } from '../test/support/server.ts';
import { rounded } from './measure.ts';
import { type Comparison, compare } from './million/measure.ts';
import { type PrefillCounts, prefill } from './million/prefill.ts';
import { type ProofReport, report } from './report.ts';
import { openStore, type PostgresSource, type StoreKind } from './stores.ts';

const ALLOWED_RATIO = 1.5;
/** Other work on the machine makes single measurements differ; what is slow by nature is slow every time. */
const MEASURED_AT_MOST = 3;
const SMALL: PrefillCounts = { finished: 1_000, queued: 1_000 };

export interface MillionOptions extends PrefillCounts {
  readonly samples: number;
}

/** The same calls on a nearly empty store and on one with a million jobs take about the same time. */
export async function proveMillion(
  kind: StoreKind,
  postgres: PostgresSource,
  options: MillionOptions,
): Promise<ProofReport> {
  const startedMs = performance.now();
  await using stack = new AsyncDisposableStack();
  const small = await prefilledServer(stack, kind, postgres, SMALL);
  const big = await prefilledServer(stack, kind, postgres, options);
  let found = await compare(small, big, options.samples);
  for (let times = 1; times < MEASURED_AT_MOST && found.some(isSlow); times++) {
    found = better(found, await compare(small, big, options.samples));
  }
  const slow = found.filter(isSlow);
  const show = ({ name, smallMs, bigMs }: Comparison): string =>
    `${name} ${rounded(smallMs)} -> ${rounded(bigMs)} ms (x${rounded(bigMs / smallMs)})`;
  return report({
    proof: 'million',
    store: kind,
    summary: `${options.finished} finished and ${options.queued} queued jobs: ${found.map(show).join(', ')}`,
    counts: {
      finished: options.finished,
      queued: options.queued,
      ...Object.fromEntries(
        found.map(({ name, smallMs, bigMs }) => [`${name}Ratio`, rounded(bigMs / smallMs)]),
      ),
    },
    violations: slow.map((one) => `${show(one)}, over x${ALLOWED_RATIO}`),
    startedMs,
  });
}

function isSlow({ smallMs, bigMs }: Comparison): boolean {
  return bigMs > smallMs * ALLOWED_RATIO;
}

/** Each call with the ratio that other work disturbed least. */
function better(before: readonly Comparison[], again: readonly Comparison[]): Comparison[] {
  const ratio = ({ smallMs, bigMs }: Comparison): number => bigMs / smallMs;
  return before.map((one) => {
    const other = again.find(({ name }) => name === one.name);
    return other !== undefined && isSlow(one) && ratio(other) < ratio(one) ? other : one;
  });
}

/** A first server makes the tables and the jobs to multiply; the one that is measured starts on the full store. */
async function prefilledServer(
  stack: AsyncDisposableStack,
  kind: StoreKind,
  postgres: PostgresSource,
  counts: PrefillCounts,
): Promise<TestServer> {
  const store = stack.use(await openStore(kind, postgres));
  const dataDir = mkdtempSync(path.join(tmpdir(), 'spine-million-'));
  stack.defer(() => rmSync(dataDir, { recursive: true, force: true }));
  // Job files are a projection of their own; writing a million of them is not what is measured here.
  const options: ServerOptions = { ...store.server, dataDir, env: { SPINE_FILES: 'off' } };
  const first = await startServer(options);
  await makeTemplates(first);
  await first.stop();
  const { databaseUrl } = store.server;
  await prefill(
    databaseUrl === undefined ? { file: path.join(dataDir, 'spine.db') } : { databaseUrl },
    counts,
  );
  return stack.use(await startServer(options));
}

async function makeTemplates(server: TestServer): Promise<void> {
  const job = { target: 'any', title: 'Deploy the service', spec: { prompt: 'x'.repeat(200) } };
  const { id } = (await server.head.post<JobBody>('/jobs', job)).body;
  const { leaseToken } = (await server.left.post<JobBody>(`/jobs/${id}/claim`)).body;
  await server.left.post(`/jobs/${id}/complete`, { leaseToken, result: { ok: true } });
  await server.head.post('/jobs', job);
}
