/** When each worker was last heard from, as one file that people and scripts read. The rows are the truth. */

import { mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { WorkerSlot } from '../domain/worker-slot.ts';
import { slotView } from '../domain/worker-slot.ts';
import type { Reads } from '../store/store.ts';
import { replaceFile } from './atomic.ts';

/** Many workers may be heard from at once; the file follows a little later. */
const AT_MOST_EVERY_MS = 250;
/** Other servers' workers are heard from too. */
const LOOK_MS = 5_000;

export function heartbeatsFile(dataDir: string): string {
  return join(dataDir, '.clawhub', 'worker-heartbeats.json');
}

export class HeartbeatsFile {
  readonly name = 'heartbeats';
  readonly everyMs = LOOK_MS;
  readonly #file: string;
  readonly #read: Pick<Reads, 'workers'>;
  readonly #now: () => number;
  #written: string | null = null;
  #writtenAt = -Infinity;

  constructor(dataDir: string, read: Pick<Reads, 'workers'>, now: () => number) {
    this.#file = heartbeatsFile(dataDir);
    this.#read = read;
    this.#now = now;
  }

  async runOnce(): Promise<{ done: number; more: boolean; nextInMs?: number }> {
    const waitMs = this.#writtenAt + AT_MOST_EVERY_MS - this.#now();
    if (waitMs > 0) return { done: 0, more: false, nextInMs: waitMs };
    const slots = await this.#read.workers.all();
    const text = textOf(slots);
    // The folder comes with the first worker.
    if (text === this.#written || (slots.length === 0 && this.#written === null))
      return { done: 0, more: false };
    if (this.#written === null) await mkdir(dirname(this.#file), { recursive: true, mode: 0o700 });
    await replaceFile(this.#file, text);
    this.#written = text;
    this.#writtenAt = this.#now();
    return { done: 1, more: false };
  }
}

function textOf(slots: readonly WorkerSlot[]): string {
  const workers = Object.fromEntries(slots.map((slot) => [slot.slot, slotView(slot)]));
  return `${JSON.stringify({ workers }, null, 2)}\n`;
}
