/** All background loops of a server, and the hints that wake them. */

import type { Model } from '../channels/anthropic.ts';
import type { ChannelOf } from '../channels/channels.ts';
import type { NoticeSender } from '../channels/operator-webhook.ts';
import type { Clock } from '../domain/ports.ts';
import type { Core } from '../engine/core.ts';
import {
  checkpointer,
  clockSync,
  gauge,
  gatewayWatch,
  routingWatch,
  sequencer,
  unknownClaimKeeper,
  tokenWatch,
  waiterPoll,
} from '../loops/keepers.ts';
import { ChatReader, type ChatReaderOptions } from '../loops/chat-reader.ts';
import { digest } from '../loops/digest.ts';
import { Deliverer, type OnMoved } from '../loops/deliverer.ts';
import { Adopter } from '../loops/adopter.ts';
import { type Duty, Loop, type LoopStatus } from '../loops/loop.ts';
import { mail } from '../loops/mail.ts';
import { notifier } from '../loops/notifier.ts';
import { budgets } from '../loops/budgets.ts';
import { bulk } from '../loops/bulk.ts';
import { approver } from '../loops/approver.ts';
import { hearing } from '../loops/hearing.ts';
import { type AskProbe, Prober } from '../loops/prober.ts';
import { providerLimits } from '../loops/provider-limits.ts';
import { poolSweeper } from '../loops/pool-sweeper.ts';
import { Pruner } from '../loops/pruner.ts';
import { Reaper } from '../loops/reaper.ts';
import { RetryCreator } from '../loops/retry-creator.ts';
import { scheduler } from '../loops/scheduler.ts';
import { scorer } from '../loops/scorer.ts';
import { settler } from '../loops/settler.ts';
import { spawner } from '../loops/spawner.ts';
import { StuckDetector } from '../loops/stuck-detector.ts';
import { subscriptionWatch } from '../loops/subscription-watch.ts';
import { timers } from '../loops/timers.ts';
import { Watchdog, type WatchdogOptions } from '../loops/watchdog.ts';

export interface DutyOptions {
  readonly core: Core;
  readonly clock: Clock;
  readonly reaperIntervalMs: number;
  readonly retentionMs: number;
  readonly tickMs: number;
  readonly messageDeliveryMs: number;
  readonly pruneMs: number;
  readonly stuckScanMs: number;
  readonly retryScanMs: number;
  /** Who is asked about failures; null when nobody is. */
  readonly model: Model | null;
  readonly watchdog: Omit<WatchdogOptions, 'core' | 'absenceMs'>;
  /** Where notices of every job go. */
  readonly notices: readonly NoticeSender[];
  /** What deliveries go by. */
  readonly channelOf: ChannelOf;
  readonly onMoved?: OnMoved;
  /** Where commands come from, and from which chats they are taken. */
  readonly chatCommands?: Omit<ChatReaderOptions, 'waitS'> | null;
  /** When in the day it is told what the day came to, in minutes after midnight; null where it is not. */
  readonly digestAt?: number | null;
  /** How the probes of schedules are asked; null where none are. */
  readonly askProbe?: AskProbe | null;
  /** Projections that follow the committed events, and whoever looks after the data dir. */
  readonly files: readonly Duty[];
  readonly forget: (ids: readonly string[]) => Promise<void>;
  readonly onError: (name: string, error: unknown) => void;
}

/** How long a stopping server waits for what is just being sent. */
const SENDING_MS = 3_000;
/** How long Telegram is asked to wait for a command. */
const CHAT_WAIT_S = 25;

export interface Duties {
  stop(): Promise<void>;
  status(): LoopStatus[];
}

export function startDuties(options: DutyOptions): Duties {
  const { core, clock, notices, digestAt = null, askProbe = null } = options;
  const loop = (duty: Duty): Loop => new Loop(duty, clock, options.onError);
  const reaper = new Reaper(core, options.reaperIntervalMs, options.watchdog.endSession);
  const settling = loop(settler(core));
  const timing = loop(timers(core, (now) => reaper.absenceMs(now)));
  const scheduling = loop(scheduler(core, options.tickMs));
  const approving = loop(approver(core, options.tickMs));
  const spawning = loop(spawner(core, options.messageDeliveryMs));
  const mailing = loop(mail(core, options.messageDeliveryMs));
  const deliverer = new Deliverer(core, options.channelOf, options.onMoved);
  const delivering = loop(deliverer);
  const prober = askProbe === null ? null : new Prober(core, askProbe);
  const probing = prober === null ? null : loop(prober);
  const budgeting = loop(budgets(core));
  const bulks = loop(bulk(core));
  const chatReader =
    options.chatCommands === undefined || options.chatCommands === null
      ? null
      : new ChatReader(core, { ...options.chatCommands, waitS: CHAT_WAIT_S });
  const files = options.files.map(loop);
  const absenceMs = (now: number): number => reaper.absenceMs(now);
  const watchdog = loop(new Watchdog({ ...options.watchdog, core, absenceMs }));
  const heard = loop(hearing(core));
  const stuck = loop(new StuckDetector({ core, everyMs: options.stuckScanMs, absenceMs }));
  const retrier = new RetryCreator({ core, everyMs: options.retryScanMs, model: options.model });
  const retrying = loop(retrier);
  const sequencing = loop(sequencer(core));
  const postgres =
    core.store.dialect === 'postgres'
      ? [
          sequencing,
          loop(clockSync(core)),
          loop(routingWatch(core)),
          loop(gatewayWatch(core)),
          loop(subscriptionWatch(core)),
          loop(unknownClaimKeeper(core)),
          loop(new Adopter(core)),
        ]
      : [loop(checkpointer(core))];
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
    mailing,
    loop(scorer(core)),
    loop(poolSweeper(core)),
    loop(
      new Pruner(core, {
        everyMs: options.pruneMs,
        retentionMs: options.retentionMs,
        forget: options.forget,
      }),
    ),
    loop(gauge(core)),
    loop(waiterPoll(core)),
    loop(tokenWatch(core)),
    ...(notices.length > 0 ? [loop(notifier(core, notices))] : []),
    delivering,
    budgeting,
    bulks,
    loop(providerLimits(core)),
    ...(probing === null ? [] : [probing]),
    ...(digestAt === null ? [] : [loop(digest(core, digestAt))]),
    ...(chatReader === null ? [] : [loop(chatReader)]),
    watchdog,
    heard,
    stuck,
    retrying,
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
  core.hints.probing = () => probing?.wake();
  core.hints.spent = () => budgeting.wake();
  core.hints.bulk = () => bulks.wake();
  core.hints.mailed = () => mailing.wake();
  core.hints.delivering = () => delivering.wake();
  const heartbeats = files.find((each) => each.name === 'heartbeats');
  core.hints.beaten = () => heartbeats?.wake();
  core.hints.consulting = () => retrying.wake();
  core.hints.heard = () => heard.wake();
  core.hints.committed = () => sequencing.wake();
  // What waited for the database waits no longer than it was away.
  core.store.onBack(() => {
    for (const each of loops) each.wake();
  });
  for (const each of loops) each.start();
  return {
    stop: async () => {
      chatReader?.callOff();
      prober?.callOff();
      await Promise.all(loops.map((each) => each.stop()));
      await retrier.stop();
      await chatReader?.release().catch(() => undefined);
      await prober?.rest();
      const patience = clock.after(SENDING_MS, () => deliverer.callOff());
      // What cannot be begun now waits for the next start, or another server.
      await deliverer.flush().catch(() => undefined);
      await deliverer.rest();
      patience();
    },
    status: () => loops.map((each) => each.status()),
  };
}
