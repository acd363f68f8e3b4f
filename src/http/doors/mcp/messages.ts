/** Messages of JSON-RPC 2.0, as the Model Context Protocol writes them. */

import { isJsonObject } from '../../../domain/json-object.ts';
import { SpineError } from '../../../domain/error.ts';

export type RpcId = string | number;

export interface RpcRequest {
  readonly kind: 'request';
  readonly id: RpcId;
  readonly method: string;
  readonly params: Readonly<Record<string, unknown>>;
}

export interface RpcNotification {
  readonly kind: 'notification';
  readonly method: string;
  readonly params: Readonly<Record<string, unknown>>;
}

/** This server asks its clients nothing, so that nobody waits for one of these. */
export interface RpcAnswer {
  readonly kind: 'answer';
}

export type RpcMessage = RpcRequest | RpcNotification | RpcAnswer;

export const RPC = {
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internal: -32603,
  /** For errors of the server's own. */
  refused: -32000,
  resourceNotFound: -32002,
} as const;

/** An error of the protocol itself; what a tool refuses is a result. */
export class RpcError extends Error {
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

const ID_CHARS = 200;
const METHOD_CHARS = 100;
/** In one body, for the versions of the protocol that allow several. */
const BATCH_MESSAGES = 50;

/** Reads the body of a POST; several messages come as a list. */
export function messagesIn(body: unknown, mayBeBatch: boolean): RpcMessage[] {
  if (!Array.isArray(body)) return [messageIn(body)];
  if (!mayBeBatch)
    throw malformed('Send one message in each call: this version of the protocol has no batches.');
  if (body.length === 0) throw malformed('A batch holds at least one message.');
  if (body.length > BATCH_MESSAGES) throw malformed(`A batch holds at most ${BATCH_MESSAGES} messages.`);
  const messages = body.map(messageIn);
  const ids = messages.flatMap((one) => (one.kind === 'request' ? [one.id] : []));
  if (new Set(ids).size < ids.length) throw malformed('Two requests of a batch have the same id.');
  if (messages.some((one) => one.kind === 'request' && one.method === 'initialize'))
    throw malformed('initialize comes alone, not in a batch.');
  return messages;
}

function messageIn(value: unknown): RpcMessage {
  if (!isJsonObject(value) || value['jsonrpc'] !== '2.0')
    throw malformed('A message is an object with "jsonrpc":"2.0".');
  const { id, method, params = {} } = value;
  if (method === undefined && ('result' in value || 'error' in value)) return { kind: 'answer' };
  if (typeof method !== 'string' || method.length > METHOD_CHARS)
    throw malformed('method must be the name of a method.');
  if (!isJsonObject(params)) throw malformed('params must be an object.');
  if (!('id' in value)) return { kind: 'notification', method, params };
  if (!isId(id)) throw malformed(`id must be a whole number or text of at most ${ID_CHARS} characters.`);
  return { kind: 'request', id, method, params };
}

function isId(id: unknown): id is RpcId {
  return typeof id === 'string' ? id.length <= ID_CHARS : Number.isSafeInteger(id);
}

function malformed(message: string): SpineError {
  return new SpineError('bad_request', {}, { message });
}

export function resultText(id: RpcId, result: object): string {
  return `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${JSON.stringify(result)}}`;
}

export function errorText(
  id: RpcId,
  { code, message }: { readonly code: number; readonly message: string },
): string {
  return `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"error":${JSON.stringify({ code, message })}}`;
}

export function notificationText(method: string, params: object): string {
  return JSON.stringify({ jsonrpc: '2.0', method, params });
}
