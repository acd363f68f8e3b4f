/** All background loops of a server, and the hints that wake them. */

import type { Channel } from '../channels/channel.ts';
import type { Clock } from '../domain/ports.ts';
import type { Core } from '../engine/core.ts';
import {
  clockSync,
  gauge,
  routingWatch,
  sequencer,
  strayKeeper,
  tokenWatch,
  waiterPoll,
} from '../loops/keepers.ts';
import { Adopter } from '../loops/adopter.ts';
import { type Duty, Loop, type LoopStatus } from '../loops/loop.ts';
import { notifier } from '../loops/notifier.ts';
import { approver } from '../loops/approver.ts';
import { poolSweeper } from '../loops/pools.ts';
import { Pruner } from '../loops/pruner.ts';
import { Reaper } from '../loops/reaper.ts';
import { scheduler } from '../loops/scheduler.ts';
import { settler } from '../loops/settler.ts';
import { spawner } from '../loops/spawner.ts';
import { timers } from '../loops/timers.ts';

export interface DutyOptions {
  readonly core: Core;
  readonly clock: Clock;
  readonly reaperIntervalMs: number;
  readonly retentionMs: number;
  readonly tickMs: number;
  readonly channels: readonly Channel[];
  /** Projections that follow the committed events, and whoever looks after the data dir. */
  readonly files: readonly Duty[];
  readonly forget: (ids: readonly string[]) => Promise<void>;
  readonly onError: (name: string, error: unknown) => void;
}

export interface Duties {
  stop(): Promise<void>;
  status(): LoopStatus[];
}

export function startDuties(options: DutyOptions): Duties {
  const { core, clock, channels } = options;
  const loop = (duty: Duty): Loop => new Loop(duty, clock, options.onError);
  const reaper = new Reaper(core, options.reaperIntervalMs);
  const settling = loop(settler(core));
  const timing = loop(timers(core, (now) => reaper.absenceMs(now)));
  const scheduling = loop(scheduler(core, options.tickMs));
  const approving = loop(approver(core, options.tickMs));
  const spawning = loop(spawner(core, options.tickMs));
  const files = options.files.map(loop);
  const sequencing = loop(sequencer(core));
  const postgres =
    core.store.dialect === 'postgres'
      ? [
          sequencing,
          loop(clockSync(core)),
          loop(routingWatch(core)),
          loop(strayKeeper(core)),
          loop(new Adopter(core)),
        ]
      : [];
  const loops = [
    // These come first: they tell the reaper how long nobody could be heard.
    loop(reaper.pulse()),
    loop(reaper.watch()),
    loop(reaper),
    timing,
    settling,
    scheduling,
    approving,
    spawning,
    loop(poolSweeper(core)),
    loop(new Pruner(core, { retentionMs: options.retentionMs, forget: options.forget })),
    loop(gauge(core)),
    loop(waiterPoll(core)),
    loop(tokenWatch(core)),
    ...(channels.length > 0 ? [loop(notifier(core, channels))] : []),
    ...files,
    ...postgres,
  ];
  core.hints.unsettled = () => settling.wake();
  core.hints.timed = () => {
    timing.wake();
    approving.wake();
  };
  core.hints.scheduled = () => {
    scheduling.wake();
    spawning.wake();
  };
  core.hints.committed = () => sequencing.wake();
  // What waited for the database waits no longer than it was away.
  core.store.onBack(() => {
    for (const each of loops) each.wake();
  });
  for (const each of loops) each.start();
  return {
    stop: async () => void (await Promise.all(loops.map((each) => each.stop()))),
    status: () => loops.map((each) => each.status()),
  };
}
