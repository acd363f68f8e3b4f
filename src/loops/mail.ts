/** Looks for whom messages wait, writes down who was heard, and closes what has run out. */

import { loopActor } from '../domain/actor.ts';
import { LIMITS } from '../domain/limits.ts';
import type { Core } from '../engine/core.ts';
import { keepHeard } from '../engine/keep-heard.ts';
import type { Duty } from './loop.ts';

const MAIL = loopActor('mail');
const BATCH = 500;
/** Names that were written to without being an agent's count, too. */
const AGENTS = 10 * LIMITS.agents;

export function mail(core: Core, everyMs: number): Duty {
  return {
    name: 'mail',
    everyMs,
    runOnce: async () => {
      const kept = await keepHeard(core, MAIL, async (tx, { now }) => tx.receipts.closeExpired(now, BATCH));
      const { told } = core.mail;
      core.mail.replace(await core.store.read.receipts.agentsWaiting(AGENTS), told);
      return { done: kept.heard + kept.done, more: kept.full || kept.done === BATCH };
    },
  };
}
