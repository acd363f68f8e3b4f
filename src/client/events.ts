/** The live feed: every event once it is committed, taken up again where it broke off. */

import type { Caller } from './caller.ts';
import { type Platform, sleep } from './platform.ts';
import { delayMs, mayRetry } from './retry.ts';
import { type ServerSentEvent, serverSentEvents } from './sse.ts';
import { SpineConnectionError } from './errors.ts';
import type { FeedEvent } from './types.ts';

export interface EventsOptions {
  /** Ends the feed when it aborts. */
  readonly signal?: AbortSignal;
  /** Go on after this event, `0` for the very first; without it the feed begins now. */
  readonly lastEventId?: string;
  /** Which events: of these types or targets (with commas between them), of this job. */
  readonly filter?: { readonly type?: string; readonly target?: string; readonly jobId?: string };
}

/** A feed this quiet is taken to be cut off: the server sends a sign of life more often. */
const SILENCE_MS = 45_000;

/** Ends only with its signal or when the server refuses. An event may come twice after a broken connection, never not at all. */
export async function* feed(caller: Caller, options: EventsOptions): AsyncGenerator<FeedEvent, void> {
  const { signal } = options;
  let lastEventId = options.lastEventId ?? '';
  for (let failures = 0; ; failures++) {
    let problem: unknown;
    try {
      for await (const { id, type, data } of await open(caller, options, lastEventId)) {
        if (id !== '') lastEventId = id;
        failures = 0;
        yield { id, type, data: JSON.parse(data) as FeedEvent['data'] };
      }
    } catch (error) {
      if (signal?.aborted || !mayRetry(error, true)) throw error;
      problem = error;
    }
    await sleep(caller.platform, delayMs(caller.platform, failures, problem), signal);
  }
}

async function open(
  caller: Caller,
  { signal, filter }: EventsOptions,
  lastEventId: string,
): Promise<AsyncGenerator<ServerSentEvent>> {
  const connection = new AbortController();
  const response = await caller.stream({
    method: 'GET',
    path: '/events',
    headers: { accept: 'text/event-stream', ...(lastEventId !== '' && { 'last-event-id': lastEventId }) },
    repeatable: true,
    ...(filter && { query: { ...filter } }),
    options: {
      signal: signal ? AbortSignal.any([signal, connection.signal]) : connection.signal,
      retries: 0,
    },
  });
  return serverSentEvents(withoutSilence(caller.platform, response.body, connection));
}

/** A connection that died without a word would be waited for until the end of time. */
async function* withoutSilence(
  platform: Platform,
  body: AsyncIterable<Uint8Array>,
  connection: AbortController,
): AsyncGenerator<Uint8Array> {
  const silence = new SpineConnectionError(`GET /events: nothing came for ${SILENCE_MS} ms`, {
    code: 'TIMEOUT',
    mayHaveArrived: true,
  });
  const listen = (): (() => void) => platform.after(SILENCE_MS, () => connection.abort(silence));
  let cancel = listen();
  try {
    for await (const chunk of body) {
      cancel();
      yield chunk;
      cancel = listen();
    }
  } finally {
    cancel();
    connection.abort(new Error('The feed was left.'));
  }
}
