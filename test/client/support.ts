import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Platform } from '../../src/client/platform.ts';
import type { ClaimedJob } from '../../src/client/types.ts';

interface Timer {
  readonly at: number;
  readonly task: () => void;
}

/** A clock that stands still until it is moved. */
export class FakePlatform implements Platform {
  #now = 1_000;
  #ids = 0;
  readonly #timers = new Set<Timer>();

  nowMs(): number {
    return this.#now;
  }

  after(delayMs: number, task: () => void): () => void {
    const timer = { at: this.#now + delayMs, task };
    this.#timers.add(timer);
    return () => void this.#timers.delete(timer);
  }

  /** How many timers have been set and neither run nor called off. */
  get pending(): number {
    return this.#timers.size;
  }

  random(): number {
    return 0.5;
  }

  randomId(): string {
    return `id${++this.#ids}`;
  }

  /** Fires every timer on the way, in order, each with the clock at its time. */
  async advance(ms: number): Promise<void> {
    const end = this.#now + ms;
    await nextRound();
    for (;;) {
      const next = [...this.#timers].filter(({ at }) => at <= end).toSorted((a, b) => a.at - b.at)[0];
      if (next === undefined) break;
      this.#timers.delete(next);
      this.#now = Math.max(this.#now, next.at);
      next.task();
      await nextRound();
    }
    this.#now = end;
    await nextRound();
  }

  /** The process stands still while time goes on: no timer fires, not even when it is back. */
  freeze(ms: number): void {
    this.#now += ms;
  }
}

/** Lets everything that is ready run. */
export function nextRound(): Promise<void> {
  return new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
}

/** Real connections with waits that are over at once, and written down. Time limits never come. */
export function hastyPlatform(): Platform & { readonly waits: number[] } {
  const waits: number[] = [];
  let ids = 0;
  return {
    waits,
    nowMs: () => performance.now(),
    after: (delayMs, task) => {
      if (delayMs >= 25_000) return () => {};
      waits.push(delayMs);
      const timer = setImmediate(task);
      return () => clearImmediate(timer);
    },
    random: () => 0.5,
    randomId: () => `id${++ids}`,
  };
}

export interface Seen {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

export type Act = (response: ServerResponse, seen: Seen) => void;

export interface Loopback extends AsyncDisposable {
  readonly url: string;
  readonly seen: Seen[];
}

/** An HTTP server that does to its n-th request what the n-th act says; the last act is for all that follow. */
export async function loopback(...acts: readonly Act[]): Promise<Loopback> {
  const seen: Seen[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { method = '', url = '', headers } = request;
      const one = { method, url, headers, body: Buffer.concat(chunks).toString() };
      seen.push(one);
      acts[Math.min(seen.length, acts.length) - 1]?.(response, one);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    seen,
    [Symbol.asyncDispose]: async () => {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}

export function says(status: number, body: unknown, headers: Record<string, string> = {}): Act {
  return (response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers });
    response.end(JSON.stringify(body));
  };
}

/** Takes the request, and then the connection is gone. */
export const hangsUp: Act = (response) => void response.socket?.destroy();

export const neverAnswers: Act = () => {};

let jobs = 0;

/** A job as a claim gives it, with its lease from `claimedAt` on the server's clock. */
export function claimedJob(fields: Partial<ClaimedJob> = {}): ClaimedJob {
  const no = ++jobs;
  const leaseMs = fields.leaseMs ?? 3_000;
  return {
    id: `job-${no}`,
    no,
    target: 'any',
    status: 'running',
    state: 'running',
    createdAt: iso(0),
    updatedAt: iso(0),
    createdBy: 'head',
    claimedBy: 'left-claw',
    leaseUntil: iso(leaseMs),
    attempts: 1,
    maxAttempts: 5,
    comments: [],
    priority: 0,
    leaseMs,
    tags: [],
    spec: '',
    meta: {},
    result: null,
    error: null,
    leaseToken: `token-${no}`,
    attempt: 1,
    ...fields,
  };
}

/** A time of the server, which believes that it is 2001. */
export function iso(ms: number): string {
  return new Date(Date.UTC(2001, 0, 1) + ms).toISOString();
}

/** Below the limit of a test, and far above what anything here takes. */
const ASKED_FOR_MS = 50_000;

/** Asks until there is an answer: for what another process does, which tells nobody. */
export async function until<T>(ask: () => Promise<T | undefined | false>): Promise<T> {
  const startedMs = performance.now();
  while (performance.now() - startedMs < ASKED_FOR_MS) {
    const answer = await ask();
    if (answer !== undefined && answer !== false) return answer;
    await new Promise((resolve) => setTimeout(resolve, 15));
  }
  throw new Error(`it did not come to pass in ${ASKED_FOR_MS} ms`);
}
