import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { type HttpClient, httpClient } from '../support/http.ts';
import { freshDatabase } from '../support/postgres.ts';
import { startServer, type TestServer, WITHOUT_FILES } from '../support/server.ts';
import { type StandIn, startStandIn } from '../support/gateway/stand-in.ts';

export const GATEWAY_TOKEN = 'token-of-the-stand-in';

export interface ScheduleBody {
  readonly id: string;
  readonly name: string;
  readonly enabled: boolean;
  readonly next_run_at: string | null;
  readonly last_status: string | null;
  readonly consecutive_errors: number;
  readonly queued_count: number;
}

export interface RunBody {
  readonly id: string;
  readonly job_id: string;
  readonly status: string;
  readonly started_at: string | null;
  readonly finished_at: string | null;
  readonly duration_ms: number | null;
  readonly output: string | null;
  readonly error_message: string | null;
  readonly last_heartbeat: string | null;
  readonly session_key: string | null;
  readonly triggered_by_run: string | null;
  readonly retry_of: string | null;
  readonly retry_count: number;
  readonly replay_of: string | null;
  readonly usage: Record<string, number> | null;
  readonly context_summary: Record<string, unknown> | null;
  readonly kind: string;
  readonly created_at: string;
}

export interface Scene extends AsyncDisposable {
  readonly server: TestServer;
  /** A schedule that only a hand or a parent starts, unless the draft says otherwise. */
  plan(draft: Record<string, unknown>): Promise<ScheduleBody>;
  run(schedule: Pick<ScheduleBody, 'id'>): Promise<string>;
  /** Oldest first. */
  runs(schedule: Pick<ScheduleBody, 'id'>): Promise<RunBody[]>;
  schedule(of: Pick<ScheduleBody, 'id'>): Promise<ScheduleBody>;
  /** The run once it has ended. */
  ended(runId: string, limitMs?: number): Promise<RunBody>;
}

export interface SceneOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly token?: string | null;
  readonly websocket?: boolean;
  readonly databaseUrl?: string;
}

/** A server with shell jobs on, beside a stand-in for its gateway. */
export async function openScene(options: SceneOptions = {}): Promise<Scene & { readonly gateway: StandIn }> {
  const { token = GATEWAY_TOKEN, env = {}, websocket = false, databaseUrl } = options;
  const gateway = await startStandIn({ token });
  gateway.state.websocket = websocket;
  // A stand-in that nobody stops would keep the test from ending.
  const opening = openServerOn({ url: gateway.url, token }, env, databaseUrl);
  await opening.catch(() => gateway.stop());
  const scene = await opening;
  return {
    ...scene,
    gateway,
    [Symbol.asyncDispose]: async () => {
      await scene[Symbol.asyncDispose]();
      await gateway.stop();
    },
  };
}

export const STORES = ['SQLite', 'PostgreSQL'] as const;

/** The scene of one store, whose database is its own. */
export async function sceneOn(store: (typeof STORES)[number], options: SceneOptions = {}) {
  if (store === 'SQLite') return openScene(options);
  const { url: databaseUrl } = await freshDatabase(process.env['TEST_POSTGRES_URL'] ?? '');
  return openScene({ ...options, databaseUrl });
}

/** A server with shell jobs on, beside a gateway that is there. */
export async function openServerOn(
  gateway: { readonly url: string; readonly token: string | null },
  env: Readonly<Record<string, string>> = {},
  databaseUrl?: string,
): Promise<Scene> {
  const server = await startServer({
    ...(databaseUrl !== undefined && { databaseUrl }),
    reaperIntervalMs: 200,
    logLevel: 'info',
    env: {
      ...WITHOUT_FILES,
      SPINE_SHELL: 'on',
      SPINE_GATEWAY: 'on',
      OPENCLAW_GATEWAY_URL: gateway.url,
      ...(gateway.token !== null && { OPENCLAW_GATEWAY_TOKEN: gateway.token }),
      SCHEDULER_TICK_MS: '1000',
      ...env,
    },
  });
  const { head } = server;
  return {
    server,
    plan: async (draft) => {
      const timed = ['schedule', 'every', 'at', 'in', 'parent_id'].some((key) => key in draft);
      const body = { ...(timed ? {} : { schedule_kind: 'manual' }), ...draft };
      const answer = await head.post<ScheduleBody>('/schedules', body);
      assert.equal(answer.status, 201, JSON.stringify(answer.body));
      return answer.body;
    },
    run: async ({ id }) => {
      const answer = await head.post<{ run_id: string }>(`/schedules/${id}/run`, {});
      assert.equal(answer.status, 202, JSON.stringify(answer.body));
      return answer.body.run_id;
    },
    runs: async ({ id }) => {
      const answer = await head.get<{ runs: RunBody[] }>(`/schedules/${id}/runs?limit=200`);
      return answer.body.runs.toReversed();
    },
    schedule: async ({ id }) => (await head.get<ScheduleBody>(`/schedules/${id}`)).body,
    ended: async (runId, limitMs = 20_000) =>
      eventually(`run ${runId} ends`, limitMs, async () => {
        // While a server is killed and started again nobody answers.
        const answer = await head.get<RunBody>(`/runs/${runId}`).catch(() => null);
        return answer === null || answer.body.finished_at === null ? null : answer.body;
      }),
    [Symbol.asyncDispose]: () => server.stop(),
  };
}

/** Limits are those of a quiet machine; one that has other work too is given so many times as long. */
const BUSY = 4;
/** Less than a test may take, so that what was waited for is named. */
const LONGEST_WAIT_MS = 50_000;

/** Asks again until there is an answer. */
export async function eventually<T>(what: string, limitMs: number, ask: () => Promise<T | null>): Promise<T> {
  const endsAt = performance.now() + Math.min(limitMs * BUSY, Math.max(limitMs, LONGEST_WAIT_MS));
  for (;;) {
    const answer = await ask();
    if (answer !== null) return answer;
    if (performance.now() > endsAt) throw new Error(`waited in vain until ${what}`);
    await sleep(20);
  }
}

export function msBetween(from: string | null, to: string | null): number {
  return Date.parse(to ?? '') - Date.parse(from ?? '');
}

/** A caller with a token of its own. */
export function callerWith({ server }: Scene, token: string): HttpClient & AsyncDisposable {
  const client = httpClient(server.url, { token });
  return { ...client, [Symbol.asyncDispose]: async () => client.close() };
}
