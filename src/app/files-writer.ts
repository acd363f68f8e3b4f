/** Has the files written by a thread, which starts when there is something to write and again when it dies. */

import type { Worker } from 'node:worker_threads';
import type { Clock } from '../domain/ports.ts';
import type { ChangeProbe } from '../files/change-probe.ts';
import type { StartupCheck } from '../files/startup-check.ts';
import { type Mark, placeOf } from '../files/feed-mark.ts';
import type { Duty, Pass } from '../loops/loop.ts';
import { Thread, ThreadDied } from '../runtime/thread.ts';
import type { Files } from './files.ts';
import type { FilesMethods, Progress } from './files-thread.ts';

export interface FilesWriterOptions {
  readonly startupCheck: StartupCheck;
  /** Null when there is something to write already. */
  readonly changeProbe: ChangeProbe | null;
  readonly clock: Pick<Clock, 'now'>;
  /** How busy this thread was since the last look, from 0 to 1. */
  readonly busy: () => number;
  readonly startThread: () => Worker;
}

const JOURNAL_EVERY_MS = 200;
const FILES_EVERY_MS = 500;
const NOTHING_DONE: Pass = { done: 0, more: false };

interface Known extends Pick<Progress, 'place' | 'lagMs'> {
  readonly at: number;
  /** The last pass said so itself; after a failed one the time since the last good one counts as lag. */
  readonly isSure: boolean;
}

export class FilesWriter implements Files {
  readonly duties: readonly Duty[] = [
    { name: 'journal', everyMs: JOURNAL_EVERY_MS, runOnce: () => this.#journalPass() },
    { name: 'files', everyMs: FILES_EVERY_MS, runOnce: () => this.#filesPass() },
  ];
  readonly #options: FilesWriterOptions;
  readonly #thread: Thread<FilesMethods>;
  readonly #known: Record<'journal' | 'files', Known>;
  #changeProbe: ChangeProbe | null;
  /** Deleted jobs that the journal has no line about yet. */
  #pruned: readonly string[] = [];

  constructor(options: FilesWriterOptions) {
    const { startupCheck, clock } = options;
    this.#options = options;
    this.#changeProbe = options.changeProbe;
    this.#thread = new Thread(options.startThread);
    const now = clock.now();
    const known = (mark: Mark | null): Known => {
      const behindMs = options.changeProbe === null && mark !== null ? Math.max(0, now - mark.at) : 0;
      return { place: placeOf(mark), lagMs: behindMs, at: now, isSure: options.changeProbe !== null };
    };
    this.#known = { journal: known(startupCheck.journal), files: known(startupCheck.files) };
  }

  async forget(ids: readonly string[]): Promise<void> {
    this.#changeProbe = null;
    await this.#thread.call('removeFiles', ids);
    this.#pruned = [...this.#pruned, ...ids];
  }

  status(): object {
    return { on: true, journal: this.#shown('journal'), files: this.#shown('files') };
  }

  async close(): Promise<void> {
    const close = (): Promise<void> => this.#thread.call('close', this.#pruned);
    try {
      if (!(await this.#isNeeded())) return;
      await close().catch((error: unknown) => {
        // It may have died since it was last asked; another one has the same disk before it.
        if (error instanceof ThreadDied) return close();
        throw error;
      });
    } finally {
      await this.#thread.end();
    }
  }

  async #isNeeded(): Promise<boolean> {
    if (this.#changeProbe !== null && (await this.#changeProbe.look())) this.#changeProbe = null;
    return this.#changeProbe === null;
  }

  async #journalPass(): Promise<Pass> {
    if (!(await this.#isNeeded())) return NOTHING_DONE;
    const pruned = this.#pruned;
    this.#pruned = [];
    try {
      return await this.#pass('journal', this.#thread.call('journal', pruned));
    } catch (error) {
      // A thread that lives on has kept them.
      if (error instanceof ThreadDied) this.#pruned = [...pruned, ...this.#pruned];
      throw error;
    }
  }

  async #filesPass(): Promise<Pass> {
    if (!(await this.#isNeeded())) return NOTHING_DONE;
    return this.#pass('files', this.#thread.call('files', this.#options.busy()));
  }

  async #pass(of: 'journal' | 'files', progress: Promise<Progress>): Promise<Pass> {
    try {
      const { pass, place, lagMs } = await progress;
      this.#known[of] = { place, lagMs, at: this.#options.clock.now(), isSure: true };
      return pass;
    } catch (error) {
      this.#known[of] = { ...this.#known[of], isSure: false };
      throw error;
    }
  }

  #shown(of: 'journal' | 'files'): object {
    const { place, lagMs, at, isSure } = this.#known[of];
    const sinceMs = isSure && lagMs === 0 ? 0 : this.#options.clock.now() - at;
    return { ...place, lagMs: lagMs + sinceMs };
  }
}
