/** Kills servers just when something is under way: each step of a retry gets its turn. */

import { setTimeout as sleep } from 'node:timers/promises';
import type { TestServer } from '../../test/support/server.ts';
import type { Random } from '../random.ts';

export const STEPS = ['a question', 'an advice', 'a claim', 'a failure', 'a retry', 'a message'] as const;
export type Step = (typeof STEPS)[number];

/** As far into a step servers are killed at most, every other time; else at its beginning. */
const LATER_MS = 40;
/** A step that does not come in this time needs more work. */
const IDLE_MS = 2_000;
const PATIENCE_MS = 20_000;

export class Kills {
  /** How often a server was killed at each. */
  readonly done = new Map<Step, number>();
  #waiting: { readonly step: Step; readonly reached: (at: boolean) => void } | null = null;

  /** To be called whenever the step has begun, and before it has ended. */
  at(step: Step): void {
    if (this.#waiting?.step !== step) return;
    this.#waiting.reached(true);
    this.#waiting = null;
  }

  async run(
    servers: readonly TestServer[],
    kills: number,
    random: Random,
    giveMoreWork: () => Promise<void>,
  ): Promise<void> {
    let restarting: Promise<unknown> = Promise.resolve();
    for (let i = 0; i < kills; i++) {
      const step = STEPS[i % STEPS.length] as Step;
      // With a server that is dead nothing is under way; but a message may be told as soon as it is there again.
      if (step !== 'a message') await restarting;
      const next = this.#next(step);
      await restarting;
      const isReached = await withWork(next, giveMoreWork);
      const round = Math.floor(i / STEPS.length);
      if ((i + round) % 2 === 1) await sleep(random.int(LATER_MS + 1));
      // In turns all of them, so that nobody else goes on with it, and one, so that somebody does.
      const one = servers[random.int(servers.length)] as TestServer;
      const killed = round % 2 === 0 ? servers : [one];
      restarting = Promise.all(killed.map((server) => server.restart()));
      if (isReached) this.done.set(step, (this.done.get(step) ?? 0) + 1);
    }
    await restarting;
  }

  #next(step: Step): Promise<boolean> {
    return new Promise((reached) => {
      this.#waiting = { step, reached };
      setTimeout(() => {
        if (this.#waiting?.reached !== reached) return;
        this.#waiting = null;
        reached(false);
      }, PATIENCE_MS);
    });
  }
}

async function withWork(next: Promise<boolean>, giveMoreWork: () => Promise<void>): Promise<boolean> {
  for (;;) {
    const ending = new AbortController();
    const idle = sleep(IDLE_MS, null, { signal: ending.signal }).catch(() => null);
    const isReached = await Promise.race([next, idle]);
    ending.abort();
    if (isReached !== null) return isReached;
    await giveMoreWork();
  }
}
