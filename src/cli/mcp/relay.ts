/** MCP over standard input and output: every line is a message, and goes to the server as one call. */

import type { Caller } from '../../client/caller.ts';
import { SpineApiError } from '../../client/errors.ts';
import { serverSentEvents } from '../../client/sse.ts';
import type { TransportResponse } from '../../client/transport.ts';

type Message = Readonly<Record<string, unknown>>;

/** As long as a tool may wait. */
const WAIT_MS = 60_000;
/** Calls under way; a client that sends more waits. */
const CALLS = 64;

const RPC_PARSE_ERROR = -32700;
const RPC_REFUSED = -32000;

export class Relay {
  readonly #caller: Caller;
  readonly #write: (line: string) => Promise<void>;
  readonly #signal: AbortSignal;
  /** What the session began with, to begin it again. */
  #initialize: Message | null = null;
  #session: string | null = null;
  #version: string | null = null;
  /** Nothing overtakes the beginning of a session. */
  #beginning: Promise<void> = Promise.resolve();
  #underWay = new Set<Promise<void>>();

  constructor(caller: Caller, signal: AbortSignal, write: (line: string) => Promise<void>) {
    this.#caller = caller;
    this.#signal = signal;
    this.#write = write;
  }

  /** Resolves when the next line may come. */
  async take(line: string): Promise<void> {
    const message = parsed(line);
    if (message === null) {
      await this.#refuse(null, RPC_PARSE_ERROR, 'The line is not a message in JSON.');
      return;
    }
    const work = this.#relay(message);
    this.#underWay.add(work);
    void work.finally(() => this.#underWay.delete(work));
    if (this.#underWay.size >= CALLS) await Promise.race(this.#underWay);
  }

  /** When no line comes any more and everything under way was called off. */
  async end(): Promise<void> {
    await Promise.all(this.#underWay);
    if (this.#session === null) return;
    const headers = this.#headers();
    const options = { retries: 0, timeoutMs: 1_000 };
    // A session that nobody ends is forgotten by itself.
    await this.#caller
      .stream({ method: 'DELETE', path: '/mcp', repeatable: false, headers, options })
      .catch(() => undefined);
  }

  async #relay(message: Message): Promise<void> {
    const before = this.#beginning;
    const sent = before.then(() => this.#send(message));
    if (message['method'] === 'initialize') this.#beginning = sent;
    await sent;
  }

  async #send(message: Message): Promise<void> {
    const begins = message['method'] === 'initialize';
    try {
      await this.#exchange(message, begins).catch(async (error: unknown) => {
        if (begins || this.#initialize === null || !isSessionGone(error)) throw error;
        // The server was started anew, or has forgotten us.
        await this.#exchange(this.#initialize, true, true);
        await this.#exchange(message, false);
      });
    } catch (error) {
      if (this.#signal.aborted) return;
      const { message: problem, hint } = error as { message: string; hint?: string | null };
      const code = error instanceof SpineApiError ? error.code : 'unavailable';
      await this.#refuse(message['id'], RPC_REFUSED, [`${code}: ${problem}`, hint].filter(Boolean).join(' '));
    }
  }

  async #exchange(message: Message, begins: boolean, again = false): Promise<void> {
    const response = await this.#caller.stream({
      method: 'POST',
      path: '/mcp',
      json: message,
      headers: { accept: 'application/json, text/event-stream', ...(!begins && this.#headers()) },
      repeatable: false,
      waitMs: WAIT_MS,
      options: { signal: this.#signal },
    });
    const answers = answersIn(response);
    if (begins) {
      this.#initialize = message;
      this.#session = response.header('mcp-session-id');
    }
    for await (const answer of answers) {
      if (begins) this.#version = versionIn(answer) ?? this.#version;
      // The client knows nothing of a second beginning.
      if (!again) await this.#write(`${JSON.stringify(answer)}\n`);
    }
  }

  #headers(): Record<string, string> {
    return {
      ...(this.#session !== null && { 'mcp-session-id': this.#session }),
      ...(this.#version !== null && { 'mcp-protocol-version': this.#version }),
    };
  }

  /** A notification has no id, and nobody waits for an answer to it. */
  async #refuse(id: unknown, code: number, message: string): Promise<void> {
    if (id === undefined) return;
    await this.#write(`${JSON.stringify({ jsonrpc: '2.0', id, error: { code, message } })}\n`);
  }
}

function parsed(line: string): Message | null {
  try {
    const value: unknown = JSON.parse(line);
    // A batch is a list; the server says whether it takes one.
    return typeof value === 'object' && value !== null ? (value as Message) : null;
  } catch {
    return null;
  }
}

function isSessionGone(error: unknown): boolean {
  return error instanceof SpineApiError && error.status === 404;
}

async function* answersIn(response: TransportResponse): AsyncGenerator {
  if (response.header('content-type')?.startsWith('text/event-stream')) {
    for await (const { data } of serverSentEvents(response.body)) yield JSON.parse(data);
    return;
  }
  const text = await response.text();
  if (text === '') return;
  const value: unknown = JSON.parse(text);
  yield* Array.isArray(value) ? (value as unknown[]) : [value];
}

function versionIn(answer: unknown): string | null {
  const { result } = answer as { result?: { protocolVersion?: unknown } };
  return typeof result?.protocolVersion === 'string' ? result.protocolVersion : null;
}
