/** A job queue as the measurements see it. */

import type { Payload } from './measure.ts';

/** Where a queue keeps its jobs: each phase gets an empty folder and, when it asks, an empty database. */
export interface Place {
  readonly folder: string;
  readonly url: string | null;
}

export interface Queue {
  /** Answers when the job is durable, under the queue's setting. */
  add(payload: Payload): unknown;
  addMany(payloads: readonly Payload[]): unknown;
  /** Starts a worker that hands out each job and completes it. */
  work(handle: (payload: Payload) => void): Promise<{ stop(): Promise<void> }>;
  /** Jobs in the store that have not been completed. */
  left(): number | Promise<number>;
  /** Jobs in the store that have been completed, for queues that keep them. */
  finished?(): Promise<number>;
  /** Resolves when nothing is left to write back of what was added, for queues that write more than the database does. */
  settled?(): Promise<void>;
  close(): Promise<void>;
}

export function urlOf(place: Place): string {
  if (place.url === null) throw new Error('this queue needs a database');
  return place.url;
}
