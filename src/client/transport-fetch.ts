/** The transport of browsers, and of everything else that has fetch. */

import { SpineConnectionError } from './errors.ts';
import { reasonOf } from './platform.ts';
import type { RequestBody, Transport, TransportRequest, TransportResponse } from './transport.ts';

export function fetchTransport(fetching: typeof fetch = globalThis.fetch): Transport {
  return {
    send: async (request) => {
      const { method, url, headers, signal } = request;
      const body = request.body === undefined ? null : await sendable(request.body);
      const response = await named(request, () =>
        fetching(url, { method, headers: { ...headers }, body, signal, redirect: 'manual' }),
      );
      return {
        status: response.status,
        header: (name) => response.headers.get(name),
        text: () => named(request, () => response.text()),
        body: chunksOf(request, response),
      } satisfies TransportResponse;
    },
  };
}

/** Browsers cannot stream a request over HTTP/1.1, so a stream is collected first. */
async function sendable(body: RequestBody): Promise<string | Blob> {
  if (typeof body === 'string') return body;
  if (body instanceof Uint8Array) return new Blob([body]);
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) chunks.push(chunk);
  return new Blob(chunks);
}

async function* chunksOf(request: TransportRequest, { body }: Response): AsyncGenerator<Uint8Array> {
  if (body === null) return;
  // Safari's streams cannot be iterated, only read.
  const reader = (body as ReadableStream<Uint8Array>).getReader();
  try {
    for (;;) {
      const { done, value } = await named(request, () => reader.read());
      if (done) return;
      yield value;
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}

async function named<T>({ method, url, signal }: TransportRequest, step: () => Promise<T>): Promise<T> {
  try {
    return await step();
  } catch (cause) {
    if (signal.aborted) throw reasonOf(signal);
    const { code = 'FETCH_FAILED', message } = innermost(cause);
    // fetch does not say how far the request came, so the worse is taken to be true.
    throw new SpineConnectionError(`${method} ${url}: ${message}`, { code, mayHaveArrived: true, cause });
  }
}

function innermost(cause: unknown): Error & { code?: string } {
  const error = cause instanceof Error ? cause : new Error(String(cause));
  return error.cause instanceof Error ? innermost(error.cause) : error;
}
