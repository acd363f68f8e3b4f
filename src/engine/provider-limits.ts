/** Parks the work of a provider that is at its limit, until that is over. */

import { loopActor } from '../domain/actor.ts';
import { limitText } from '../domain/chat-text.ts';
import type { Fail, JobCommand } from '../domain/command.ts';
import type { Job } from '../domain/job.ts';
import { limitAfter, limitIn, limitReason, type ProviderLimit } from '../domain/provider-limit.ts';
import type { Routing } from '../domain/routing.ts';
import type { Tx } from '../store/store.ts';
import type { Subscribers } from './announcing.ts';
import type { ChangeSet } from './change-set.ts';
import type { Core } from './core.ts';
import { routingChanged, setPaused } from './routing.ts';

const LIMITS = loopActor('provider-limits');

export type LimitedFailure = Fail & { readonly limit: ProviderLimit };

/** A failure that tells of a limit, where the job's type says whose; null when it is another one. */
export function limitedFailure(
  command: JobCommand,
  { typeNo }: Job,
  { providers }: Routing,
  now: number,
): LimitedFailure | null {
  if (command.kind !== 'fail' || command.error === null) return null;
  const provider = providers.get(typeNo);
  const limit = provider === undefined ? null : limitIn(command.error, now);
  return provider === undefined || limit === null ? null : { ...command, limit: { provider, ...limit } };
}

/** A job that was held back so often in a row has a fault of its own: its next limit is a failure like others. */
const MOST_HELD_BACK = 10;
/** So many of its last events are looked at. */
const EVENTS = 500;

/** Whether it can be held back by a limit again. The history is read only of what was claimed so often for nothing. */
export async function mayWaitAgain(
  tx: Tx,
  { no, seq, fence, attempts }: Job,
  provider: string,
): Promise<boolean> {
  if (fence - attempts < MOST_HELD_BACK) return true;
  const events = await tx.feed.ofJob(no, Math.max(0, seq - EVENTS), EVENTS);
  const failed = events.findLastIndex(({ kind }) => kind === 'job.failed');
  const heldBack = events
    .slice(failed + 1)
    .filter(({ facts }) => facts?.['reason'] === limitReason(provider));
  return heldBack.length < MOST_HELD_BACK;
}

/** To be called once in a flush, after its decisions. */
export async function park(tx: Tx, changeSet: ChangeSet, to: Subscribers): Promise<void> {
  const { now } = changeSet;
  // In the same order everywhere: two servers never wait for each other.
  for (const { provider, untilAt: said } of changeSet.limits.toSorted((a, b) =>
    a.provider < b.provider ? -1 : 1,
  )) {
    const known = await tx.limits.lock(provider);
    const limit = limitAfter(known, said, now);
    await tx.limits.save(limit);
    const paused = { kind: 'provider', name: provider, untilAt: limit.untilAt } as const;
    const isNew = known.untilAt <= now;
    // What was under way when it began reports it, too.
    if (isNew) await setPaused(tx, changeSet, LIMITS, { ...paused, paused: true });
    else await tx.routing.pause({ ...paused, at: now, by: LIMITS.name });
    // Of limits that come again and again, people are told once.
    if (isNew && limit.strikes === 1)
      await changeSet.announcer.chat(tx, null, limitText(provider, limit.untilAt), to);
  }
  changeSet.effects.routed = true;
}

/** Ends pauses whose time is over; answers how many, and when the next one ends. */
export async function liftPauses(core: Core): Promise<{ lifted: number; nextAt: number | null }> {
  const ends = (await core.routing()).pauses.flatMap(({ untilAt }) => untilAt ?? []);
  const now = core.now();
  const lifted = ends.filter((at) => at <= now).length;
  if (lifted > 0) await lift(core);
  const nextAt = Math.min(...ends.filter((at) => at > now));
  return { lifted, nextAt: nextAt === Infinity ? null : nextAt };
}

/** Looks again: another server may have been faster, or the limit goes on. */
async function lift(core: Core): Promise<void> {
  await core.flusher.transact(LIMITS, async (tx, changeSet) => {
    for (const { kind, name, untilAt } of (await tx.routing.current()).pauses)
      if (untilAt !== null && untilAt <= changeSet.now)
        await setPaused(tx, changeSet, LIMITS, { kind, name, paused: false });
  });
  routingChanged(core, false);
}
