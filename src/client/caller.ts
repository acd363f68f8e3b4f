/** Sends calls: authorised, with a time limit, repeated where that is safe, and every refusal a typed error. */

import { SpineApiError, SpineConnectionError } from './errors.ts';
import { type Platform, reasonOf, sleep } from './platform.ts';
import { delayMs, mayRetry } from './retry.ts';
import { fetchTransport } from './transport-fetch.ts';
import type { RequestBody, Transport, TransportResponse } from './transport.ts';

export interface CallOptions {
  /** Ends the call when it aborts. */
  readonly signal?: AbortSignal | undefined;
  /** For one try; a waiting claim gets its wait on top. */
  readonly timeoutMs?: number;
  /** Tries after the first one. */
  readonly retries?: number;
}

export interface Call {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>>;
  /** Sent as JSON. */
  readonly json?: unknown;
  /** Sent as it is; called anew for every try. */
  readonly body?: () => RequestBody;
  readonly headers?: Readonly<Record<string, string>>;
  /** Whether the server does the call once however often it comes. */
  readonly repeatable: boolean;
  /** How long the server may let us wait before it answers. */
  readonly waitMs?: number | undefined;
  readonly options?: CallOptions | undefined;
}

export interface CallerSettings {
  readonly baseUrl: string;
  readonly token?: string | undefined;
  readonly transport?: Transport | undefined;
  readonly retries: number;
  readonly timeoutMs: number;
  readonly platform: Platform;
}

export class Caller {
  readonly platform: Platform;
  readonly #settings: CallerSettings;
  readonly #base: string;
  readonly #headers: Readonly<Record<string, string>>;
  #transport: Promise<Transport> | undefined;

  constructor(settings: CallerSettings) {
    this.#settings = settings;
    this.platform = settings.platform;
    this.#base = baseOf(settings.baseUrl);
    this.#headers = settings.token === undefined ? {} : { authorization: `Bearer ${settings.token}` };
    if (settings.transport) this.#transport = Promise.resolve(settings.transport);
  }

  /** The parsed answer. Its shape is the server's promise, as the types of each call write it down. */
  async json<T>(call: Call): Promise<T> {
    const { result, release } = await this.#withRetries(call, async (signal) => {
      const response = await this.#send(call, signal);
      const text = await response.text();
      if (response.status >= 300) throw apiError(response, text);
      return parsed(call, text);
    });
    release();
    return result as T;
  }

  /** The answer as it comes in. The time limit is for its beginning only, the caller's signal for all of it. */
  async stream(call: Call): Promise<TransportResponse> {
    const { result, release } = await this.#withRetries(call, async (signal) => {
      const response = await this.#send(call, signal);
      if (response.status >= 300) throw apiError(response, await response.text());
      return response;
    });
    return {
      status: result.status,
      header: (name) => result.header(name),
      text: () => result.text(),
      body: releasedAfter(result.body, release),
    };
  }

  async close(): Promise<void> {
    (await this.#transport)?.close?.();
  }

  async #withRetries<T>(call: Call, attempt: Attempt<T>): Promise<Limited<T>> {
    const { retries = this.#settings.retries, signal } = call.options ?? {};
    for (let failures = 0; ; failures++) {
      try {
        return await this.#limited(call, attempt);
      } catch (error) {
        if (failures >= retries || signal?.aborted || !mayRetry(error, call.repeatable)) throw error;
        await sleep(this.platform, delayMs(this.platform, failures, error), signal);
      }
    }
  }

  /** One try, ended by the caller's signal or the time limit, whichever is first. */
  async #limited<T>(call: Call, attempt: Attempt<T>): Promise<Limited<T>> {
    const { signal, timeoutMs = this.#settings.timeoutMs } = call.options ?? {};
    if (signal?.aborted) throw reasonOf(signal);
    const ending = new AbortController();
    const abort = (): void => ending.abort(reasonOf(signal));
    const release = (): void => signal?.removeEventListener('abort', abort);
    const limitMs = timeoutMs + (call.waitMs ?? 0);
    const cancel = this.platform.after(limitMs, () => ending.abort(tooLate(call, limitMs)));
    signal?.addEventListener('abort', abort, { once: true });
    try {
      return { result: await attempt(ending.signal), release };
    } catch (error) {
      release();
      throw error;
    } finally {
      cancel();
    }
  }

  async #send(call: Call, signal: AbortSignal): Promise<TransportResponse> {
    this.#transport ??= this.platform.transport?.() ?? Promise.resolve(fetchTransport());
    const transport = await this.#transport;
    const body = call.json === undefined ? call.body?.() : JSON.stringify(call.json);
    const contentType = call.json === undefined ? {} : { 'content-type': 'application/json' };
    return await transport.send({
      method: call.method,
      url: this.#base + call.path + queryOf(call.query),
      headers: { ...this.#headers, ...contentType, ...call.headers },
      ...(body !== undefined && { body }),
      signal,
    });
  }
}

type Attempt<T> = (signal: AbortSignal) => Promise<T>;

interface Limited<T> {
  readonly result: T;
  /** Stops listening to the caller's signal. */
  readonly release: () => void;
}

async function* releasedAfter(
  body: AsyncIterable<Uint8Array>,
  release: () => void,
): AsyncGenerator<Uint8Array> {
  try {
    yield* body;
  } finally {
    release();
  }
}

function baseOf(baseUrl: string): string {
  if (!/^https?:\/\//.test(baseUrl) || !URL.canParse(baseUrl))
    throw new TypeError(`baseUrl must be an http or https address, not ${JSON.stringify(baseUrl)}.`);
  const { search, hash, username } = new URL(baseUrl);
  if (search !== '' || hash !== '' || username !== '')
    throw new TypeError('baseUrl must be a plain address: no user, no query, no fragment.');
  return baseUrl.replace(/\/+$/, '');
}

function queryOf(query: Call['query'] = {}): string {
  const pairs = Object.entries(query).filter(([, value]) => value !== undefined);
  if (pairs.length === 0) return '';
  return `?${new URLSearchParams(pairs.map(([name, value]): [string, string] => [name, String(value)])).toString()}`;
}

function tooLate({ method, path }: Call, limitMs: number): SpineConnectionError {
  return new SpineConnectionError(`${method} ${path}: no answer in ${limitMs} ms`, {
    code: 'TIMEOUT',
    mayHaveArrived: true,
  });
}

function parsed({ method, path }: Call, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new SpineConnectionError(`${method} ${path}: the answer is not JSON. Is this a Spine server?`, {
      code: 'BAD_ANSWER',
      mayHaveArrived: true,
      cause,
    });
  }
}

function apiError(response: TransportResponse, text: string): SpineApiError {
  const { status } = response;
  const { error, message, hint, retryable, requestId, ...details } = objectIn(text);
  const isOurs = typeof error === 'string';
  return new SpineApiError({
    code: isOurs ? error : `http_${status}`,
    status,
    message: typeof message === 'string' ? message : `The server answered ${status}.`,
    hint: typeof hint === 'string' ? hint : null,
    retryable: typeof retryable === 'boolean' ? retryable : status === 429 || status >= 500,
    details: isOurs ? details : {},
    requestId: typeof requestId === 'string' ? requestId : response.header('x-request-id'),
    retryAfterMs: retryAfterMs(response),
  });
}

function objectIn(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    // A proxy's page; its status is all that we can use.
    return {};
  }
}

/** Seconds, or a time, which is read by the server's own clock. */
function retryAfterMs(response: TransportResponse): number | null {
  const given = response.header('retry-after');
  if (given === null) return null;
  if (/^\d+$/.test(given)) return Number(given) * 1_000;
  const waitMs = Date.parse(given) - Date.parse(response.header('date') ?? '');
  return Number.isNaN(waitMs) ? null : Math.max(0, waitMs);
}
