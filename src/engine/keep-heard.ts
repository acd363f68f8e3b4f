/** Writes down who was heard. */

import type { Actor } from '../domain/command.ts';
import type { Tx } from '../store/store.ts';
import { keepAgents } from './agents.ts';
import type { ChangeSet } from './change-set.ts';
import type { Core } from './core.ts';

const BATCH = 500;

/** Answers how many; `more` is done in the same commit. */
export async function keepHeard(
  core: Core,
  actor: Actor,
  more: (tx: Tx, changeSet: ChangeSet) => Promise<number> = async () => 0,
): Promise<{ readonly heard: number; readonly done: number; readonly full: boolean }> {
  const heard = core.presence.take(BATCH);
  try {
    const done = await core.flusher.transact(actor, async (tx, changeSet) => {
      // Users before agents, as whoever changes a user does it.
      for (const [name, { at }] of heard) await tx.users.heard(name, at);
      await keepAgents(tx, heard, changeSet.now);
      return more(tx, changeSet);
    });
    return { heard: heard.length, done, full: heard.length === BATCH };
  } catch (error) {
    core.presence.putBack(heard);
    throw error;
  }
}
