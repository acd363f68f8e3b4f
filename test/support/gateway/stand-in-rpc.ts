/** The stand-in's WebSocket methods, with the original's checks and words. */

import type { End, Run } from './runs.ts';
import { USAGE } from './runs.ts';
import type { StandInState } from './stand-in-state.ts';
import { fullKey } from './stand-in-state.ts';

type Params = Readonly<Record<string, unknown>>;

export class RpcRefusal extends Error {
  readonly frame: Params;

  constructor(frame: Params) {
    super(String(frame['message']));
    this.frame = frame;
  }
}

/** `last` is the second answer of a method that answers twice. */
interface Reply {
  readonly payload: Params;
  readonly last?: Promise<{ readonly ok: boolean; readonly payload: Params; readonly error?: Params }>;
}

const PARAMS: Readonly<Record<string, readonly string[]>> = {
  agent: ['message', 'agentId', 'sessionKey', 'idempotencyKey', 'deliver', 'timeout', 'model', 'thinking'],
  'agent.wait': ['runId', 'timeoutMs'],
  'sessions.list': ['activeOnly', 'search', 'limit'],
  'sessions.describe': ['key'],
  'sessions.abort': ['key', 'runId'],
  'tasks.list': ['sessionKey', 'limit'],
  'chat.history': ['sessionKey', 'limit', 'maxChars'],
};

export const METHODS = Object.keys(PARAMS);

export async function answerRpc(state: StandInState, method: string, params: Params): Promise<Reply> {
  const allowed = PARAMS[method];
  if (allowed === undefined) throw invalid(`unknown method: ${method}`);
  const odd = Object.keys(params).find((name) => !allowed.includes(name));
  if (odd !== undefined) throw invalid(`invalid ${method} params: at root: unexpected property '${odd}'`);
  if (state.draining && method.startsWith('agent')) throw restarting(method);
  if (state.monitoring === 'fails' && /list|describe/.test(method))
    throw invalid('internal error', 'INTERNAL');
  if (state.monitoring === 'garbage' && /list|describe/.test(method))
    return { payload: { sessions: 'none' } };
  switch (method) {
    case 'agent':
      return agent(state, params);
    case 'agent.wait':
      return { payload: await wait(state, String(params['runId']), Number(params['timeoutMs'])) };
    case 'sessions.list':
      return { payload: { sessions: activeRows(state, String(params['search'])) } };
    case 'sessions.describe':
      return { payload: { session: state.runs.sessions.get(String(params['key'])) ?? null } };
    case 'sessions.abort':
      return { payload: abort(state, String(params['key']), params['runId']) };
    case 'tasks.list':
      return { payload: { tasks: taskRows(state, String(params['sessionKey'])) } };
    default:
      return { payload: { messages: state.runs.sessions.get(String(params['sessionKey']))?.messages ?? [] } };
  }
}

function agent(state: StandInState, params: Params): Reply {
  const { message, agentId, sessionKey, idempotencyKey, timeout, deliver } = params;
  if (typeof message !== 'string' || message === '') throw invalid('invalid agent params: at /message');
  if (timeout !== undefined && !Number.isInteger(timeout))
    throw invalid('invalid agent params: at /timeout: must be integer');
  if (deliver !== false || typeof idempotencyKey !== 'string') throw invalid('invalid agent params');
  if (!state.agents.includes(String(agentId))) throw invalid(`Unknown agent id "${String(agentId)}"`);
  const known = state.runs.byId(idempotencyKey);
  if (known?.end === null) return { payload: { runId: idempotencyKey, status: 'in_flight' } };
  if (known !== undefined) return { payload: lastPayload(known, known.end) };
  const key = fullKey(String(agentId), String(sessionKey));
  const timeoutMs = timeout === undefined ? undefined : Number(timeout) * 1000;
  const run = state.runs.start({ runId: idempotencyKey, key, message, inLedger: true }, timeoutMs);
  const last = run.ended.then((end) => ({
    ok: end.status !== 'failed',
    payload: lastPayload(run, end),
    ...(end.status === 'failed' ? { error: { code: 'UNAVAILABLE', message: end.failure.message } } : {}),
  }));
  return { payload: { runId: idempotencyKey, sessionKey: key, status: 'accepted' }, last };
}

function lastPayload({ runId }: Run, end: End | null): Params {
  switch (end?.status) {
    case 'ok':
      return {
        runId,
        status: 'ok',
        summary: 'completed',
        result: { payloads: [{ text: end.text }], meta: { agentMeta: { usage: USAGE } } },
      };
    case 'failed':
      return {
        runId,
        status: 'error',
        summary: end.failure.message,
        result: { meta: { agentMeta: { usage: USAGE } } },
      };
    case 'timeout':
      return { runId, status: 'timeout', summary: 'aborted', timeoutPhase: 'provider' };
    case 'killed':
    case undefined:
      return { runId, status: 'timeout', summary: 'aborted', stopReason: 'rpc' };
  }
}

async function wait(state: StandInState, runId: string, timeoutMs: number): Promise<Params> {
  const over = new Promise<null>((resolve) => setTimeout(() => resolve(null), timeoutMs).unref());
  const end = await Promise.race([state.runs.byId(runId)?.ended ?? over, over]);
  if (end === null) return { runId, status: 'timeout' };
  const endedAt = Date.now();
  switch (end.status) {
    case 'ok':
      // The original cuts the text here.
      return {
        runId,
        status: 'ok',
        endedAt,
        terminalReply: { disposition: 'visible', text: end.text.slice(0, 4096) },
      };
    case 'failed':
      return { runId, status: 'error', endedAt, error: end.failure.message };
    case 'timeout':
      return { runId, status: 'timeout', endedAt, error: 'Request timed out', timeoutPhase: 'provider' };
    case 'killed':
      return { runId, status: 'error', endedAt, stopReason: 'rpc' };
  }
}

function activeRows(state: StandInState, search: string): readonly Params[] {
  const live = state.runs.runs.filter(({ key, state }) => state !== 'finished' && key.includes(search));
  return live.map(({ key, state }) => ({ key, status: state, hasActiveRun: true }));
}

function taskRows(state: StandInState, key: string): readonly Params[] {
  const rows = state.runs.runs.filter((run) => run.key === key && run.inLedger).toReversed();
  return rows.map((run) => ({
    runId: run.runId,
    kind: 'cli',
    sessionKey: key,
    execution: {
      state: run.state,
      ...(run.state === 'running' ? { lastActivityAt: run.lastActivityAt } : {}),
      ...(run.tool === null ? {} : { currentTool: run.tool }),
    },
    toolUseCount: run.toolUseCount,
  }));
}

function abort(state: StandInState, key: string, runId: unknown): Params {
  const run = state.runs.live(key);
  if (run === undefined || (runId !== undefined && run.runId !== runId)) {
    return { ok: true, abortedRunId: null, status: 'no-active-run' };
  }
  run.finish({ status: 'killed' });
  return { ok: true, abortedRunId: run.runId, status: 'aborted' };
}

function invalid(message: string, code = 'INVALID_REQUEST'): RpcRefusal {
  return new RpcRefusal({ code, message });
}

function restarting(method: string): RpcRefusal {
  return new RpcRefusal({
    code: 'UNAVAILABLE',
    message: `${method} unavailable during gateway restart`,
    retryable: true,
    retryAfterMs: 1000,
    details: { method, reason: 'gateway-restarting' },
  });
}
