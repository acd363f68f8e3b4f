/** A thread (or a process) beside this one that answers calls. When it dies the calls under way fail, and the next one starts another. */

import { getCompileCacheDir } from 'node:module';
import { dirname } from 'node:path';
import { type ResourceLimits, Worker } from 'node:worker_threads';

type Methods<M> = { readonly [K in keyof M]: (...args: never[]) => Promise<unknown> };

interface Call {
  readonly id: number;
  readonly name: string;
  readonly args: readonly unknown[];
}

interface Answer {
  readonly id: number;
  readonly value?: unknown;
  readonly error?: unknown;
}

export class ThreadDied extends Error {}

export interface ThreadOptions {
  /** What it is called in messages and in the list of threads. */
  readonly name: string;
  /** A file that calls `answer`. */
  readonly entry: URL;
  readonly data: unknown;
  readonly limits: ResourceLimits;
}

/** As much of a thread as is needed here. */
export interface Peer {
  postMessage(message: unknown): void;
  on(event: string, listener: (value: unknown) => void): unknown;
  /** Ends it, whatever it is doing. */
  terminate(): Promise<unknown>;
}

export function startThread({ name, entry, data, limits }: ThreadOptions): Worker {
  const cache = getCompileCacheDir();
  return new Worker(entry, {
    name,
    workerData: data,
    resourceLimits: limits,
    // Node adds a folder for its version to the one it is given, and names that one.
    env: { ...process.env, ...(cache !== undefined && { NODE_COMPILE_CACHE: dirname(cache) }) },
  });
}

/** To be called in the thread. */
export function answer<M extends Methods<M>>(port: Pick<Peer, 'postMessage' | 'on'>, methods: M): void {
  // The other side takes names and arguments from the same type.
  const byName = methods as Readonly<Record<string, (...args: never[]) => Promise<unknown>>>;
  port.on('message', (call) => {
    const { id, name, args } = call as Call;
    void byName[name]?.(...(args as never[])).then(
      (value) => port.postMessage({ id, value } satisfies Answer),
      (error: unknown) => port.postMessage({ id, error } satisfies Answer),
    );
  });
}

export class Thread<M extends Methods<M>> {
  readonly #start: () => Peer;
  readonly #calls = new Map<number, PromiseWithResolvers<unknown> & { readonly of: Peer }>();
  #worker: Peer | null = null;
  #lastId = 0;
  /** It died while nobody waited for it: the next caller is to hear of it. */
  #untold: ThreadDied | null = null;

  constructor(start: () => Peer) {
    this.#start = start;
  }

  async call<K extends keyof M & string>(
    name: K,
    ...args: Parameters<M[K]>
  ): Promise<Awaited<ReturnType<M[K]>>> {
    const untold = this.#untold;
    this.#untold = null;
    if (untold !== null) throw untold;
    const worker = (this.#worker ??= this.#begin());
    const call = { ...Promise.withResolvers<unknown>(), of: worker };
    const id = ++this.#lastId;
    this.#calls.set(id, call);
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
    worker.postMessage({ id, name, args } satisfies Call);
    return (await call.promise) as Awaited<ReturnType<M[K]>>;
  }

  /** Ends it, whatever it is doing. */
  async end(): Promise<void> {
    const worker = this.#worker;
    this.#worker = null;
    await worker?.terminate();
  }

  #begin(): Peer {
    const worker = this.#start();
    let reason: unknown = null;
    worker.on('message', (answer) => this.#answered(answer as Answer));
    worker.on('error', (error) => void (reason = error));
    worker.on('exit', (code) => this.#died(worker, reason ?? new Error(`exit code ${String(code)}`)));
    return worker;
  }

  #answered({ id, value, error }: Answer): void {
    const call = this.#calls.get(id);
    this.#calls.delete(id);
    if (error === undefined) call?.resolve(value);
    else call?.reject(error);
  }

  #died(worker: Peer, reason: unknown): void {
    const why = reason instanceof Error ? reason.message : String(reason);
    const died = new ThreadDied(`the thread ended: ${why}`, { cause: reason });
    // One that was ended on purpose may have a successor by now, with calls of its own.
    const lost = [...this.#calls].filter(([, { of }]) => of === worker);
    for (const [id, call] of lost) {
      this.#calls.delete(id);
      call.reject(died);
    }
    const wasAsked = lost.length > 0;
    if (this.#worker !== worker) return;
    this.#worker = null;
    if (!wasAsked) this.#untold = died;
  }
}
