/** Ticks whose probes are asked before they fire: never within a transaction, by one server at a time. */

import { loopActor } from '../domain/actor.ts';
import type { ProbeAnswer } from '../domain/probe.ts';
import type { ProbedTick } from '../domain/tick.ts';
import type { Schedule } from '../domain/schedule.ts';
import type { Core } from './core.ts';
import { fire } from './firing.ts';

const PROBER = loopActor('prober');
/** What may be told of an answer. */
const REASON_CHARS = 500;
/** Beyond what the probe itself has: when this server dies, another one asks again after it. */
const MARGIN_MS = 15_000;
/** How soon a tick is looked at again whose schedule still waits for the answer about an earlier one. */
const LATER_MS = 5_000;

export interface DueProbe {
  readonly tick: ProbedTick;
  /** Null when it is gone. */
  readonly schedule: Schedule | null;
}

/** `isAsked` tells of which schedules a probe is under way here: one that hangs takes one place, not one for each tick. */
export async function takeProbes(
  core: Core,
  limit: number,
  isAsked: (scheduleId: string) => boolean,
): Promise<readonly DueProbe[]> {
  return core.flusher.transact(PROBER, async (tx, { now }) => {
    const due: DueProbe[] = [];
    const taken = new Set<string>();
    for (const tick of await tx.ticks.lockToProbe(now, limit)) {
      const { scheduleId } = tick;
      if (isAsked(scheduleId) || taken.has(scheduleId)) {
        await tx.ticks.holdProbe(tick, now + LATER_MS);
        continue;
      }
      const [schedule = null] = await tx.schedules.lock([scheduleId]);
      await tx.ticks.holdProbe(tick, now + probeMs(schedule) + MARGIN_MS);
      taken.add(scheduleId);
      due.push({ tick, schedule });
    }
    return due;
  });
}

/** How long the probe may take. */
export function probeMs(schedule: Schedule | null): number {
  return (schedule?.spec.probeTimeoutS ?? 0) * 1_000;
}

/** Nothing came of it, as when this server stops: whoever looks next may ask. */
export async function giveBackProbe(core: Core, tick: ProbedTick): Promise<void> {
  await core.flusher.transact(PROBER, (tx, { now }) => tx.ticks.holdProbe(tick, now));
}

/** Makes the job unless the probe has found nothing to do. One that does not know hides no work. */
export async function settleProbe(core: Core, tick: ProbedTick, answer: ProbeAnswer): Promise<void> {
  await core.types();
  await core.flusher.transact(PROBER, async (tx, changeSet) => {
    const [schedule] = await tx.schedules.lock([tick.scheduleId]);
    const said = `${WORDS[answer.verdict]}${answer.said === '' ? '' : `: ${answer.said}`}`
      .slice(0, REASON_CHARS)
      .toWellFormed()
      .replaceAll('\0', '');
    // What came by a rule that was switched off meanwhile is not wanted any more; a single moment always is.
    const wanted = schedule !== undefined && (schedule.enabled || schedule.spec.scheduleKind === 'at');
    const reason = wanted ? said : 'its schedule was switched off while its probe was asked';
    const fired = wanted && answer.verdict !== 'fresh';
    if (!(await tx.ticks.settleProbe(tick, fired ? 'fired' : 'skipped', reason)) || !fired) return;
    const { kind, at } = tick;
    const occasion = { kind, dueAt: at, inLine: kind === 'catch_up', probed: said };
    const job = await fire(core, tx, changeSet, schedule, occasion);
    await tx.ticks.nameJob(schedule.id, at, job.no);
    await tx.schedules.save([schedule]);
  });
}

const WORDS = {
  stale: 'its probe found work',
  fresh: 'its probe found nothing to do',
  unsure: 'its probe failed',
} as const;
