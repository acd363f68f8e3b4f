/** The live feed: every event once it is committed, taken up again where it broke off. */

import type { Caller } from './caller.ts';
import { sleep } from './platform.ts';
import { delayMs, mayRetry } from './retry.ts';
import { serverSentEvents } from './sse.ts';
import { SpineConnectionError } from './errors.ts';
import type { FeedEvent } from './types.ts';

export interface EventsOptions {
  readonly signal?: AbortSignal;
  /** Go on after this event; without it the feed begins now. */
  readonly lastEventId?: string;
  /** Which events, as the server's filters name them. */
  readonly filter?: Readonly<Record<string, string | number | boolean>>;
  /** A feed this quiet is taken to be cut off: the server sends a sign of life more often. */
  readonly silenceMs?: number;
}

const SILENCE_MS = 90_000;

/** Ends only with its signal or when the server refuses. An event may come twice after a broken connection, never not at all. */
export async function* feed(caller: Caller, options: EventsOptions): AsyncGenerator<FeedEvent, void> {
  const { signal, silenceMs = SILENCE_MS } = options;
  let lastEventId = options.lastEventId ?? '';
  for (let failures = 0; ; failures++) {
    let problem: unknown;
    try {
      for await (const { id, type, data } of await open(caller, options, lastEventId, silenceMs)) {
        if (id !== '') lastEventId = id;
        failures = 0;
        yield { id, type, data: JSON.parse(data) as unknown };
      }
    } catch (error) {
      if (signal?.aborted || !mayRetry(error, true)) throw error;
      problem = error;
    }
    await sleep(caller.platform, delayMs(caller.platform, failures, problem), signal);
  }
}

async function open(caller: Caller, options: EventsOptions, lastEventId: string, silenceMs: number) {
  const { signal, filter } = options;
  const response = await caller.stream({
    method: 'GET',
    path: '/events',
    headers: { accept: 'text/event-stream', ...(lastEventId !== '' && { 'last-event-id': lastEventId }) },
    repeatable: true,
    ...(filter && { query: filter }),
    options: { signal, retries: 0 },
  });
  return serverSentEvents(withoutSilence(caller, response.body, silenceMs));
}

/** A connection that died without a word would be waited for until the end of time. */
async function* withoutSilence(
  { platform }: Caller,
  body: AsyncIterable<Uint8Array>,
  silenceMs: number,
): AsyncGenerator<Uint8Array> {
  const chunks = body[Symbol.asyncIterator]();
  try {
    for (;;) {
      let cancel = (): void => {};
      const silence = new Promise<never>((_, reject) => {
        const error = new SpineConnectionError(`GET /events: nothing came for ${silenceMs} ms`, {
          code: 'TIMEOUT',
          mayHaveArrived: true,
        });
        cancel = platform.after(silenceMs, () => reject(error));
      });
      const next = await Promise.race([chunks.next(), silence]).finally(() => cancel());
      if (next.done) return;
      yield next.value;
    }
  } finally {
    // Not awaited: a reader that waits for a dead connection would never come back.
    void chunks.return?.();
  }
}
