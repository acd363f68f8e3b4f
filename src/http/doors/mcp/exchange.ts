/** One POST of the Streamable HTTP transport: messages in, their answers out. */

import { principalOf } from '../../../domain/actor.ts';
import { SpineError } from '../../../domain/error.ts';
import { asSpineError } from '../../errors.ts';
import type { Answer, Call } from '../../routes.ts';
import {
  errorText,
  messagesIn,
  resultText,
  RPC,
  RpcError,
  type RpcMessage,
  type RpcRequest,
} from './messages.ts';
import { ProgressStream } from './progress.ts';
import { type McpServer, VERSIONS } from './server.ts';
import type { Session, Sessions } from './sessions.ts';

/** Whoever names no version speaks this one, and so may send several messages at once. */
const UNNAMED_VERSION = '2025-03-26';
const WITH_BATCHES: readonly string[] = ['2025-03-26', '2024-11-05'];
const SESSION_HEADER = 'mcp-session-id';
/** What the answers to one batch may come to: the request behind it is not looked at any more. */
const BATCH_BYTES = 1_048_576;

export async function exchange(call: Call, server: McpServer, sessions: Sessions): Promise<Answer> {
  const { reply } = call;
  const messages = messagesIn(call.body, WITH_BATCHES.includes(versionOf(call)));
  const session = sessionFor(call, messages, sessions);
  if (session !== null) reply.header(SESSION_HEADER, session.id);
  for (const one of messages) if (one.kind === 'notification') heed(one, session);
  const requests = messages.filter((one) => one.kind === 'request');
  if (requests.length === 0) return reply.code(202).send();
  countLooks(call, requests);
  const progress = new ProgressStream(call, requests);
  const answers: string[] = [];
  let bytes = 0;
  try {
    for (const request of requests) {
      const text =
        bytes > BATCH_BYTES
          ? errorText(request.id, FULL)
          : await answerTo(call, request, { server, session });
      if (text === null) continue;
      answers.push(text);
      bytes += text.length;
    }
    await call.parts.room.take(call, bytes, true);
  } finally {
    progress.stop();
  }
  if (progress.hasBegun) return progress.end(answers);
  if (answers.length === 0) return reply.code(202).send();
  return Array.isArray(call.body) ? `[${answers.join(',')}]` : answers.join('');
}

const FULL = new RpcError(
  RPC.refused,
  'The answer to this batch is full. Nothing was done: send this one again.',
);

/** Tools count as the calls that they make, so that nothing stands in the way of a heartbeat; the rest is looking. */
function countLooks({ actor, parts, reply }: Call, requests: readonly RpcRequest[]): void {
  if (requests.every(({ method }) => method === 'tools/call')) return;
  const leave = parts.limits.enter(actor, 'read', 0);
  if (leave instanceof SpineError) throw leave;
  if (leave !== null) reply.raw.once('close', leave);
}

/** DELETE: the client will not come back. */
export function endSession(call: Call, sessions: Sessions): Answer {
  const session = sessionNamed(call, sessions);
  if (session === null) {
    const message = 'Name the session to end in the header Mcp-Session-Id.';
    throw new SpineError('bad_request', { field: 'Mcp-Session-Id' }, { message });
  }
  sessions.end(session);
  return call.reply.code(204).send();
}

function versionOf({ request }: Call): string {
  const named = request.headers['mcp-protocol-version'];
  if (named === undefined) return UNNAMED_VERSION;
  const known = VERSIONS.find((version) => version === named);
  if (known !== undefined) return known;
  const message = `This server speaks the protocol in the versions ${VERSIONS.join(', ')}.`;
  throw new SpineError('bad_request', { field: 'MCP-Protocol-Version' }, { message });
}

function sessionFor(call: Call, messages: readonly RpcMessage[], sessions: Sessions): Session | null {
  const begins = messages.some((one) => one.kind === 'request' && one.method === 'initialize');
  return begins ? sessions.begin(principalOf(call.actor)) : sessionNamed(call, sessions);
}

/** Clients need no session; without one they cannot call anything off. */
function sessionNamed({ actor, request }: Call, sessions: Sessions): Session | null {
  const id = request.headers[SESSION_HEADER];
  if (typeof id !== 'string') return null;
  const session = sessions.find(principalOf(actor), id);
  if (session !== null) return session;
  const message = 'This session has ended. Begin a new one with initialize.';
  throw new SpineError('not_found', {}, { message });
}

function heed(
  { method, params }: { method: string; params: RpcRequest['params'] },
  session: Session | null,
): void {
  const id = params['requestId'];
  if (method === 'notifications/cancelled' && (typeof id === 'string' || typeof id === 'number'))
    session?.callOff(id);
}

interface Serving {
  readonly server: McpServer;
  readonly session: Session | null;
}

/** Null when the client has called the request off, and waits for no answer. */
async function answerTo(
  call: Call,
  request: RpcRequest,
  { server, session }: Serving,
): Promise<string | null> {
  const { id } = request;
  if (session?.underWay.has(id))
    return errorText(id, new RpcError(RPC.invalidRequest, 'A request with this id is under way.'));
  const ending = new AbortController();
  session?.underWay.set(id, ending);
  try {
    const result = await server.answer({ ...call, gone: ending.signal }, request);
    return ending.signal.aborted ? null : resultText(id, result);
  } catch (error) {
    if (ending.signal.aborted) return null;
    return errorText(id, error instanceof RpcError ? error : told(call, error));
  } finally {
    session?.underWay.delete(id);
  }
}

/** What was refused where no result says so. What broke inside is for the log. */
function told({ parts, request }: Call, error: unknown): RpcError {
  const refusal = asSpineError(error);
  if (refusal.code === 'not_found') return new RpcError(RPC.resourceNotFound, refusal.message);
  if (refusal.code !== 'internal') return new RpcError(RPC.refused, `${refusal.code}: ${refusal.message}`);
  const facts = {
    requestId: request.id,
    method: request.method,
    path: '/mcp',
    error: refusal.cause ?? refusal,
  };
  parts.log.error('A request failed unexpectedly', facts);
  return new RpcError(RPC.internal, `Something broke inside; the log has it under ${request.id}.`);
}
