/** An answer that takes long: it becomes a stream, in which the client hears that its requests are still under way. */

import type { Answer, Call } from '../../routes.ts';
import { SpineError } from '../../../domain/error.ts';
import { SECURITY_HEADERS } from '../../security.ts';
import { notificationText, type RpcId, type RpcRequest } from './messages.ts';

const STREAM_TYPE = 'text/event-stream; charset=utf-8';
const EVERY_MS = 5_000;
/** Clients count theirs, or name them by a UUID. */
const TOKEN_CHARS = 200;

export class ProgressStream {
  readonly #call: Call;
  readonly #tokens: readonly RpcId[];
  readonly #startedAt: number;
  #cancel: () => void = () => undefined;
  #hasBegun = false;

  constructor(call: Call, requests: readonly RpcRequest[]) {
    this.#call = call;
    this.#startedAt = call.parts.clock.now();
    this.#tokens = requests.flatMap(tokenOf);
    if (this.#tokens.length > 0 && takesStreams(call)) this.#wait();
  }

  get hasBegun(): boolean {
    return this.#hasBegun;
  }

  stop(): void {
    this.#cancel();
  }

  /** The answers as the last events of the stream. */
  end(answers: readonly string[]): Answer {
    const { raw } = this.#call.reply;
    raw.end(answers.map(event).join(''));
    return this.#call.reply;
  }

  #wait(): void {
    this.#cancel = this.#call.parts.clock.after(EVERY_MS, () => this.#tell());
  }

  #tell(): void {
    const { reply, parts } = this.#call;
    if (reply.raw.destroyed) return;
    if (!this.#hasBegun) this.#begin();
    // Whoever does not read is told nothing more until it has.
    if (reply.raw.writableNeedDrain) return this.#wait();
    const progress = Math.round((parts.clock.now() - this.#startedAt) / 1_000);
    for (const progressToken of this.#tokens) {
      const params = { progressToken, progress, message: `waiting for ${progress} s` };
      reply.raw.write(event(notificationText('notifications/progress', params)));
    }
    this.#wait();
  }

  #begin(): void {
    const { reply } = this.#call;
    this.#hasBegun = true;
    const session = reply.getHeader('mcp-session-id');
    reply.hijack();
    // A hijacked reply sends none of the headers that were set before.
    reply.raw.writeHead(200, {
      ...SECURITY_HEADERS,
      ...(session !== undefined && { 'mcp-session-id': session }),
      'content-type': STREAM_TYPE,
      'x-accel-buffering': 'no',
    });
  }
}

function tokenOf({ params }: RpcRequest): RpcId[] {
  const token = (params['_meta'] as { progressToken?: unknown } | undefined | null)?.progressToken;
  if (typeof token === 'number') return [token];
  if (typeof token !== 'string') return [];
  if (token.length <= TOKEN_CHARS) return [token];
  const message = `progressToken must have at most ${TOKEN_CHARS} characters.`;
  throw new SpineError('bad_request', { field: 'progressToken' }, { message });
}

function takesStreams({ request }: Call): boolean {
  return request.headers.accept?.includes('text/event-stream') === true;
}

function event(message: string): string {
  return `event: message\ndata: ${message}\n\n`;
}
