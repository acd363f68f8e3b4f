/** Takes over runs whose server is gone: it beats no more, or this one runs at its site. */

import { loopActor } from '../domain/actor.ts';
import type { AdoptableRun } from '../domain/run.ts';
import type { Core } from '../engine/core.ts';
import { holderOf, siteOf } from '../engine/server-name.ts';
import type { Duty, Pass } from './loop.ts';

/** Whoever takes a run from a server that is gone. */
export const ADOPTER = loopActor('adopter');

/** A server beats every second. One that was not heard for so long is gone, or cut off as if it were. */
const GONE_MS = 10_000;
/** Only one server can run at a site: whoever ran here before needs no patience but for a beat on its way. */
const REPLACED_MS = 2_500;
const FORGOTTEN_MS = 86_400_000;

/**
 * What a gateway does goes on without the server that asked for it, so that any server may follow it up. A command dies
 * with its server, or runs on beside it: only a server of the same machine can tell and end it. Those of other machines
 * wait for their leases, under which a server that is merely cut off gives them up itself.
 */
export class Adopter implements Duty {
  readonly name = 'adopter';
  readonly everyMs = 2_000;
  readonly #core: Core;
  #lookedAt: number | null = null;
  /** Since when this server could look all the time: before that, silence says nothing about the others. */
  #steadySince = 0;
  #forgot = false;

  constructor(core: Core) {
    this.#core = core;
  }

  async runOnce(): Promise<Pass> {
    const { store } = this.#core;
    const [runs, beats] = await Promise.all([store.read.leases.adoptable(), store.read.servers.beats()]);
    const now = this.#core.now();
    if (this.#lookedAt === null || now - this.#lookedAt > GONE_MS / 2) this.#steadySince = now;
    this.#lookedAt = now;
    const orphans = runs.filter((run) => this.#isOrphan(run, beats, now));
    await Promise.all(
      orphans.map(({ id, leaseToken }) =>
        this.#core.perform({ kind: 'expire', id, leaseToken, actor: ADOPTER, orphaned: true }),
      ),
    );
    await this.#forgetOnce(now);
    return { done: orphans.length, more: false };
  }

  #isOrphan(run: AdoptableRun, beats: ReadonlyMap<string, number>, now: number): boolean {
    const holder = holderOf(run);
    const own = this.#core.server;
    if (holder === null || holder === own) return false;
    const silentMs = now - (beats.get(holder) ?? 0);
    if (siteOf(holder) === siteOf(own)) return silentMs >= REPLACED_MS;
    if (run.target === 'shell') return false;
    return silentMs >= GONE_MS && now - this.#steadySince >= GONE_MS;
  }

  /** Each start brings a new name. */
  async #forgetOnce(now: number): Promise<void> {
    if (this.#forgot) return;
    await this.#core.flusher.transact(ADOPTER, async (tx) => tx.servers.forget(now - FORGOTTEN_MS));
    this.#forgot = true;
  }
}
