/** Looks for whom messages wait, writes down who was heard, and closes what has run out. */

import { loopActor } from '../domain/actor.ts';
import { LIMITS } from '../domain/limits.ts';
import { keepAgents } from '../engine/agents.ts';
import type { Core } from '../engine/core.ts';
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
      const heard = core.presence.take(BATCH);
      const closed = await core.flusher.transact(MAIL, async (tx, changeSet) => {
        await keepAgents(tx, heard, changeSet.now);
        return tx.receipts.closeExpired(changeSet.now, BATCH);
      });
      const { told } = core.mail;
      core.mail.replace(await core.store.read.receipts.agentsWaiting(AGENTS), told);
      return { done: heard.length + closed, more: heard.length === BATCH || closed === BATCH };
    },
  };
}
