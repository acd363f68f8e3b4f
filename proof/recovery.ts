import { eventually, GATEWAY_TOKEN, openScene, openServerOn, type Scene } from '../test/scheduler/support.ts';
import { type ProofReport, report } from './report.ts';
import type { ProofStore } from './stores.ts';

export interface RecoveryOptions {
  /** From the death of a server to the next one that looks after its runs. */
  readonly limitMs: number;
}

type WithGateway = Awaited<ReturnType<typeof openScene>>;

/** Who takes a turn over whose server died: the one started in its place, or another one that goes on. */
const HEIRS = {
  'the one started in its place': async (scene: WithGateway): Promise<Scene> => {
    await scene.server.restart();
    return scene;
  },
  'another one': (scene: WithGateway, store: ProofStore): Promise<Scene> =>
    openServerOn({ url: scene.gateway.url, token: GATEWAY_TOKEN }, {}, store.server.databaseUrl),
} as const;

/** Turns under way at a gateway are looked after soon after their server died, and sent once. */
export async function proveRecovery(store: ProofStore, { limitMs }: RecoveryOptions): Promise<ProofReport> {
  const startedMs = performance.now();
  const violations: string[] = [];
  const tookMs: Record<string, number> = {};
  for (const [heir, found] of Object.entries(HEIRS)) {
    const took = await takenOver(store, heir === 'another one', found, limitMs * 2, violations);
    tookMs[heir] = Math.round(took);
    if (took > limitMs) violations.push(`taken over by ${heir} after ${Math.round(took)} ms`);
  }
  return report({
    proof: 'recovery',
    store: store.kind,
    startedMs,
    counts: tookMs,
    violations,
    summary: Object.entries(tookMs)
      .map(([heir, ms]) => `taken over by ${heir} within ${ms} ms`)
      .join(', '),
  });
}

async function takenOver(
  store: ProofStore,
  isThereBefore: boolean,
  find: (scene: WithGateway, store: ProofStore) => Promise<Scene>,
  patienceMs: number,
  violations: string[],
): Promise<number> {
  await using scene = await openScene({ websocket: true, ...store.server });
  const { session, id } = await turnUnderWay(scene);
  const early = isThereBefore ? await find(scene, store) : null;
  const diedMs = performance.now();
  await scene.server.kill('SIGKILL');
  const heir = early ?? (await find(scene, store));
  try {
    await eventually('it was adopted', patienceMs, async () =>
      /[Aa]dopted/.test(heir.server.output()) ? true : null,
    );
    const took = performance.now() - diedMs;
    scene.gateway.finish(session, 'went on without you');
    const { status } = await heir.ended(id);
    if (status !== 'ok') violations.push(`the turn ended as ${status}`);
    const sent = scene.gateway.requests('agent').length;
    if (sent !== 1) violations.push(`the turn was sent ${sent} times`);
    return took;
  } finally {
    if (early !== null) await early[Symbol.asyncDispose]();
  }
}

async function turnUnderWay(scene: WithGateway): Promise<{ readonly session: string; readonly id: string }> {
  scene.gateway.state.plan = () => ({ hang: true });
  const made = await scene.plan({ name: 'lasting', payload_message: 'x' });
  const id = await scene.run(made);
  const session = `agent:main:scheduler:${made.id}:${id}`;
  await eventually('it runs', 10_000, async () => scene.gateway.state.runs.live(session) ?? null);
  return { session, id };
}
