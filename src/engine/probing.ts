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
/** Longer than any probe may take: when this server dies, another one asks again after it. */
const LEASE_MS = 330_000;

export interface DueProbe {
  readonly tick: ProbedTick;
  /** Null when it is gone. */
  readonly schedule: Schedule | null;
}

export async function takeProbes(core: Core, limit: number): Promise<readonly DueProbe[]> {
  return core.flusher.transact(PROBER, async (tx, { now }) => {
    const ticks = await tx.ticks.takeProbes(now, limit, now + LEASE_MS);
    const due: DueProbe[] = [];
    for (const tick of ticks) {
      const [schedule = null] = await tx.schedules.lock([tick.scheduleId]);
      due.push({ tick, schedule });
    }
    return due;
  });
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
