/**
 * Removes the bytes of artifacts whose record is gone. The record goes first, with its job; a server that dies in
 * between, or between the bytes and the record of an upload, leaves bytes that are found here.
 */

import type { BlobStore, StoredFile } from '../blobs/blobs.ts';
import type { Core } from '../engine/core.ts';
import type { Duty, Pass } from './loop.ts';

const WINDOW = 500;
const EVERY_MS = 3_600_000;
/** A database restored from a backup may not know them yet, and the right one may come tomorrow. */
const ORPHAN_KEPT_MS = 24 * 3_600_000;
const PART_KEPT_MS = 3_600_000;
/** More of them wait for another round. */
const MAX_SUSPECTS = 100_000;

export class BlobSweeper implements Duty {
  readonly name = 'blobs';
  readonly everyMs = EVERY_MS;
  readonly #core: Core;
  readonly #blobs: BlobStore;
  readonly #isOurs: () => Promise<boolean>;
  #round: AsyncIterator<StoredFile> | null = null;
  /** Files without a record in the round before. Only who is one in two rounds goes: an upload gets its record in between. */
  #suspects: ReadonlySet<string> = new Set();
  #found = new Set<string>();

  /** `isOurs` is asked before each round: what is another installation's looks forgotten to this one. */
  constructor(core: Core, blobs: BlobStore, isOurs: () => Promise<boolean> = async () => true) {
    this.#core = core;
    this.#blobs = blobs;
    this.#isOurs = isOurs;
  }

  async runOnce(): Promise<Pass> {
    if (this.#round === null && !(await this.#isOurs())) return { done: 0, more: false };
    this.#round ??= this.#blobs.files()[Symbol.asyncIterator]();
    try {
      const window = await nextOf(this.#round);
      const done = await this.#sweep(window);
      const more = window.length === WINDOW;
      if (!more) this.#endRound();
      return { done, more };
    } catch (error) {
      this.#round = null;
      this.#found = new Set();
      throw error;
    }
  }

  #endRound(): void {
    this.#round = null;
    this.#suspects = this.#found;
    this.#found = new Set();
  }

  async #sweep(window: readonly StoredFile[]): Promise<number> {
    const known = await this.#core.store.read.blobs.known(window.map(({ id }) => id));
    const now = this.#core.now();
    let done = 0;
    for (const { id, name, isPart } of window) {
      if (known.has(id) && !isPart) continue;
      if (this.#found.size < MAX_SUSPECTS) this.#found.add(name);
      const keptMs = isPart ? PART_KEPT_MS : ORPHAN_KEPT_MS;
      if (this.#suspects.has(name) && (await this.#blobs.drop(name, now - keptMs))) done++;
    }
    return done;
  }
}

async function nextOf(round: AsyncIterator<StoredFile>): Promise<StoredFile[]> {
  const window: StoredFile[] = [];
  while (window.length < WINDOW) {
    const next = await round.next();
    if (next.done === true) break;
    window.push(next.value);
  }
  return window;
}
