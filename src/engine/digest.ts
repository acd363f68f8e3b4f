/** What a day came to, told to the operator's chat once over all servers and restarts. */

import { loopActor } from '../domain/actor.ts';
import { dollars } from '../domain/budget.ts';
import { dateOf, lastAt } from '../domain/day.ts';
import type { AdviceTaken } from '../domain/model-call.ts';
import type { Tally } from '../domain/tally.ts';
import { added, NO_USAGE } from '../domain/usage.ts';
import type { Core } from './core.ts';

const DIGEST = loopActor('digest');
/** Until when the last one was told, as text in epoch ms. */
const TOLD = 'digest';
/** One that comes later than this is left out: the next one is nearer. */
const LATE_MS = 12 * 3_600_000;

/** True when one was sent. `minute` is when in the day, after midnight. */
export async function sendDigest(core: Core, minute: number): Promise<boolean> {
  const now = core.now();
  const at = lastAt(core.dayTz, minute, now);
  const told = await core.store.read.meta.get(TOLD);
  if (told !== null && Number(told) >= at) return false;
  const { chat, newId } = await core.subscribers();
  // The first start of a server that sends any begins with the next moment.
  const text = told === null || chat === null || now - at > LATE_MS ? null : await textOf(core, at, minute);
  return core.flusher.transact(DIGEST, async (tx, changeSet) => {
    if (!(await tx.meta.raise(TOLD, String(at))) || text === null || chat === null) return false;
    await changeSet.announcer.reply(tx, chat, { kind: 'digest', text }, newId);
    return true;
  });
}

/** From the same time of the day before on. */
async function textOf(core: Core, at: number, minute: number): Promise<string> {
  const { read } = core.store;
  const from = lastAt(core.dayTz, minute, at - 1);
  const [counts, spent, asked, oldest] = await Promise.all([
    read.tallies.between(from, at),
    read.usage.between(from, at),
    read.modelCalls.between(from, at),
    read.jobs.oldestReady(),
  ]);
  const count = (...kinds: readonly Tally[]): string =>
    kinds.reduce((sum, kind) => sum + (counts.get(kind) ?? 0), 0).toLocaleString('en');
  const took = spent.reduce((sum, { usage }) => added(sum, usage), NO_USAGE);
  const waiting = oldest === null ? 'none' : `#${oldest.no}, for ${waitOf(core.now() - oldest.createdAt)}`;
  return [
    `Digest of ${dateOf(core.dayTz, from)}`,
    `Done: ${count('done')}`,
    `Failed: ${count('failed', 'dead')}`,
    `Retried: ${count('retried')}`,
    `Exhausted: ${count('dead')}`,
    `Cost: ${dollars(took.costMicros)}, ${took.totalTokens.toLocaleString('en')} tokens`,
    ...(asked.calls === 0 ? [] : [`Advice: ${adviceOf(asked)}`]),
    `Oldest waiting: ${waiting}`,
  ].join('\n');
}

function adviceOf({ calls, inputTokens, outputTokens }: AdviceTaken): string {
  const tokens = (inputTokens + outputTokens).toLocaleString('en');
  return `${calls.toLocaleString('en')} question${calls === 1 ? '' : 's'}, ${tokens} tokens`;
}

function waitOf(ms: number): string {
  const minutes = Math.floor(ms / 60_000);
  if (minutes < 120) return `${minutes} min`;
  return minutes < 2_880 ? `${Math.floor(minutes / 60)} h` : `${Math.floor(minutes / 1_440)} days`;
}
