/** The stand-in's HTTP endpoints, as strict as the original's. */

import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { USAGE } from './runs.ts';
import { fullKey, type Recorded, type StandInState } from './stand-in-state.ts';

const CHAT_MAX_BYTES = 20 * 1024 * 1024;
const TOOLS_MAX_BYTES = 2 * 1024 * 1024;
const HOOK_MAX_BYTES = 256 * 1024;

interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly raw: Buffer;
  readonly body: Readonly<Record<string, unknown>> | null;
}

export async function answerHttp(
  state: StandInState,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const at = Date.now();
  const raw = await buffer(request);
  const body = parse(raw);
  const path = request.url ?? '/';
  const recorded: Recorded = {
    method: request.method ?? 'GET',
    path,
    headers: request.headers,
    body,
    at,
    endedAt: null,
    aborted: false,
  };
  state.recorded.push(recorded);
  response.on('close', () => {
    recorded.endedAt = Date.now();
    recorded.aborted = !response.writableFinished;
  });
  if (state.silent.has(path)) return;
  await route(state, path, { request, response, raw, body });
}

function route(state: StandInState, path: string, exchange: Exchange): Promise<void> | void {
  const { request, response } = exchange;
  switch (path) {
    case '/health':
      if (request.method === 'POST')
        return plain(response, 405, 'Method Not Allowed', { allow: 'GET, HEAD' });
      return json(response, 200, { ok: true, status: 'live' });
    case '/readyz':
      return readyz(state, response);
    case '/v1/chat/completions':
      return state.chatCompletions ? chat(state, exchange) : plain(response, 404, 'Not Found');
    case '/tools/invoke':
      return invoke(state, exchange);
    case '/hooks/wake':
      return wake(state, exchange);
    default:
      return plain(response, 404, 'Not Found');
  }
}

function readyz(state: StandInState, response: ServerResponse): void {
  if (state.old) return plain(response, 404, 'Not Found');
  if (state.draining) return json(response, 503, { ready: false, failing: ['gateway-draining'] });
  json(response, 200, { ready: true, failing: [] });
}

async function chat(state: StandInState, { request, response, raw, body }: Exchange): Promise<void> {
  if (request.method !== 'POST') return plain(response, 405, 'Method Not Allowed', { allow: 'POST' });
  if (!authorized(state, request)) return fail(response, 401, 'unauthorized', 'Unauthorized');
  if (state.draining) return unavailable(response);
  if (raw.length > CHAT_MAX_BYTES) return fail(response, 413, 'invalid_request_error', 'Payload too large');
  const asked = whatIsAsked(state, request, body);
  if (typeof asked === 'string') return fail(response, 400, 'invalid_request_error', asked);
  const runId = `chatcmpl_${randomUUID()}`;
  const run = state.runs.start({ runId, ...asked, inLedger: false });
  // A client that goes away has stopped its turn.
  response.on('close', () => run.finish({ status: 'killed' }));
  const end = await run.ended;
  if (end.status === 'failed')
    return fail(response, end.failure.status, end.failure.type, end.failure.message);
  if (end.status !== 'ok') return fail(response, 500, 'api_error', 'internal error');
  json(response, 200, {
    id: runId,
    object: 'chat.completion',
    model: body?.['model'],
    choices: [{ index: 0, message: { role: 'assistant', content: end.text }, finish_reason: 'stop' }],
    usage: { prompt_tokens: USAGE.input, completion_tokens: USAGE.output, total_tokens: USAGE.total },
  });
}

/** The session and the message, or what is wrong with the request. */
function whatIsAsked(
  state: StandInState,
  request: IncomingMessage,
  body: Exchange['body'],
): { key: string; message: string } | string {
  if (body === null) return 'Invalid JSON';
  const agent = /^openclaw[:/](.+)$/.exec(words(body['model']) || 'openclaw:main')?.[1];
  if (agent === undefined) return 'Invalid `model`. Use `openclaw` or `openclaw/<agentId>`.';
  if (!state.agents.includes(agent)) return `Unknown agent '${agent}'.`;
  const messages = body['messages'];
  const last: unknown = Array.isArray(messages) ? messages.at(-1) : null;
  const content = (last as { content?: unknown } | null)?.content;
  if (typeof content !== 'string' || content === '') return 'Missing user message in `messages`.';
  const key = String(request.headers['x-openclaw-session-key'] ?? `openai:${randomUUID()}`);
  if (/^(cron|subagent|acp):/.test(key)) {
    return '`x-openclaw-session-key` cannot use reserved internal session namespaces.';
  }
  return { key: fullKey(agent, key), message: content };
}

function invoke(state: StandInState, { request, response, raw, body }: Exchange): void {
  if (request.method !== 'POST') return plain(response, 405, 'Method Not Allowed', { allow: 'POST' });
  if (!authorized(state, request)) return fail(response, 401, 'unauthorized', 'Unauthorized');
  if (state.draining) return unavailable(response);
  if (raw.length > TOOLS_MAX_BYTES) return fail(response, 413, 'invalid_request_error', 'Payload too large');
  if (state.monitoring === 'fails') return fail(response, 500, 'api_error', 'internal error');
  if (state.monitoring === 'garbage') return plain(response, 200, '<html>not what you asked for</html>');
  const args = (body?.['args'] ?? {}) as Readonly<Record<string, unknown>>;
  switch (body?.['tool']) {
    case 'sessions_list':
      return json(response, 200, {
        ok: true,
        result: { details: { sessions: rows(state, words(args['search'])) } },
      });
    case 'sessions_history': {
      const messages = state.runs.sessions.get(words(args['sessionKey']))?.messages ?? [];
      return json(response, 200, { ok: true, result: { details: { messages } } });
    }
    case 'message':
      return message(state, response, args);
    default:
      return json(response, 404, { ok: false, error: { type: 'not_found', message: 'Tool not available' } });
  }
}

function message(
  state: StandInState,
  response: ServerResponse,
  args: Readonly<Record<string, unknown>>,
): void {
  const { action, channel, target, message: text, ...unknown } = args;
  const wrong = Object.keys(unknown)[0] ?? (action === 'send' ? null : 'action');
  if (wrong !== null) return fail(response, 400, 'invalid_request_error', `Invalid parameter: ${wrong}`);
  if ([channel, target, text].some((each) => typeof each !== 'string' || each === ''))
    return fail(response, 400, 'invalid_request_error', 'message.send requires channel, target and message');
  const failure = state.messageFailures.shift();
  if (failure !== undefined) return fail(response, failure, 'api_error', 'internal error');
  state.messages.push({ channel: words(channel), target: words(target), text: words(text) });
  const details = { status: 'ok', messageId: `m${state.messages.length}` };
  json(response, 200, { ok: true, result: { details } });
}

function rows(state: StandInState, search: string): readonly unknown[] {
  const found = [...state.runs.sessions.values()].filter(({ key }) => key.includes(search));
  return found.map(({ key, status, abortedLastRun, updatedAt }) => {
    const live = state.runs.live(key);
    return state.old
      ? { key, updatedAt: live?.lastActivityAt ?? updatedAt }
      : { key, status, abortedLastRun, updatedAt };
  });
}

function wake(state: StandInState, { request, response, raw, body }: Exchange): void {
  if (request.headers.authorization !== `Bearer ${state.hookToken}`)
    return plain(response, 401, 'Unauthorized');
  if (request.method !== 'POST') return plain(response, 405, 'Method Not Allowed', { allow: 'POST' });
  if (state.draining) return unavailable(response);
  if (raw.length > HOOK_MAX_BYTES) return json(response, 413, { ok: false, error: 'payload too large' });
  if (typeof body?.['text'] !== 'string') return json(response, 400, { ok: false, error: 'text required' });
  json(response, 200, { ok: true, mode: body['mode'], eventOutcome: 'queued' });
}

function authorized(state: StandInState, request: IncomingMessage): boolean {
  return state.anyToken || state.token === null || request.headers.authorization === `Bearer ${state.token}`;
}

function unavailable(response: ServerResponse): void {
  const message = 'Gateway is temporarily unavailable while suspending or restarting';
  json(
    response,
    503,
    { error: { message, type: 'service_unavailable', code: 'gateway_unavailable' } },
    { 'retry-after': '1' },
  );
}

function fail(response: ServerResponse, status: number, type: string, message: string): void {
  json(response, status, { error: { message, type } });
}

function json(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json; charset=utf-8', ...headers });
  response.end(JSON.stringify(body));
}

function plain(
  response: ServerResponse,
  status: number,
  text: string,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { 'content-type': 'text/plain', ...headers });
  response.end(text);
}

function words(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function parse(raw: Buffer): Exchange['body'] {
  try {
    const value: unknown = JSON.parse(raw.toString('utf8'));
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}
