/** How every connection to PostgreSQL is opened, known and let go. */

import type { Client, ClientBase } from 'pg';
import type { Clock } from '../domain/ports.ts';

/** For all connections. The driver's own limit covers the greeting; a dead peer of an idle one is found by the system. */
export const REACHABLE = {
  connectionTimeoutMillis: 3_000,
  keepAlive: true,
  keepAliveInitialDelayMillis: 5_000,
};

/** Several statements may be under way at once. The driver's types do not know this option yet. */
export const PIPELINED = { pipeline: true } as object;

/** The process of the database that serves a connection. Its number alone may be another's by now. */
export interface Backend {
  readonly pid: number;
  readonly startedAt: string;
}

const WHO =
  'select pid, backend_start::text as "startedAt" from pg_stat_activity where pid = pg_backend_pid()';

/** Asked for, because a proxy in between gives out numbers of its own. */
export async function backendOf(client: ClientBase, clock: Clock): Promise<Backend> {
  const { rows } = await within(clock, REACHABLE.connectionTimeoutMillis, client.query<Backend>(WHO));
  return rows[0] as Backend;
}

/** Ends the connection without a word to the other side, which may never answer. */
export function destroy(client: ClientBase): void {
  // A pool's clients are clients like any other, which the driver's types do not tell.
  (client as Client).connection.stream.destroy();
}

const GOODBYE_MS = 1_000;

/** A polite end, as long as the other side plays along. */
export async function endPolitely(
  client: ClientBase & { end(): Promise<void> },
  clock: Clock,
): Promise<void> {
  await within(clock, GOODBYE_MS, client.end()).catch(() => destroy(client));
}

export function pause(clock: Clock, ms: number): Promise<void> {
  return new Promise((resolve) => void clock.after(ms, resolve));
}

/** No answer in time. What was asked may have been done. */
export class NoAnswer extends Error {}

export async function within<T>(clock: Clock, limitMs: number, answer: Promise<T>): Promise<T> {
  const late = Promise.withResolvers<never>();
  const giveUp = clock.after(limitMs, () => {
    // A process that stood still finds its timer due and the answer unread: it is read first.
    setImmediate(() => late.reject(new NoAnswer(`the database gave no answer within ${limitMs} ms`)));
  });
  try {
    return await Promise.race([answer, late.promise]);
  } finally {
    giveUp();
    answer.catch(() => undefined);
    late.promise.catch(() => undefined);
  }
}
