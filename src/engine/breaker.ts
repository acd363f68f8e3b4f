/** Pauses a type whose tasks fail one after another in the same way, until somebody resumes it. */

import { loopActor } from '../domain/actor.ts';
import { breakerText } from '../domain/chat-text.ts';
import { fingerprintOf } from '../domain/fingerprint.ts';
import { type Job, rootOf } from '../domain/job.ts';
import { countsInStreak, streakWith } from '../domain/streak.ts';
import type { Tx } from '../store/store.ts';
import type { Subscribers } from './announcing.ts';
import type { ChangeSet } from './change-set.ts';
import { saidOf } from './consulting.ts';
import type { Core } from './core.ts';
import { setPaused } from './routing.ts';

const BREAKER = loopActor('breaker');

/** To be called once for each job that failed, after whatever else locks jobs. True when it opened the breaker. */
export async function countFailure(
  core: Core,
  tx: Tx,
  changeSet: ChangeSet,
  job: Job,
  to: Subscribers,
): Promise<boolean> {
  const { typeNo } = job;
  // What was handed out before the pause may fail on.
  if (core.breakerFailures === 0 || !countsInStreak(job) || (await core.routing()).pausedTypes.has(typeNo))
    return false;
  const reason = await saidOf(tx, job);
  // Failures of which nobody said anything may have nothing in common.
  if (reason === null) return false;
  const known = await tx.streaks.lock(typeNo);
  const streak = streakWith(known, fingerprintOf(typeNo, reason), rootOf(job));
  if (streak.roots.length < core.breakerFailures) {
    if (streak !== known) await tx.streaks.save(streak);
    return false;
  }
  await tx.streaks.end([typeNo]);
  const type = (await core.typesByNo()).get(typeNo)?.name;
  if (type === undefined) return false;
  await setPaused(tx, changeSet, BREAKER, { kind: 'type', name: type, paused: true });
  await changeSet.announcer.chat(tx, null, breakerText(type, streak.roots.length, reason), to);
  return true;
}
