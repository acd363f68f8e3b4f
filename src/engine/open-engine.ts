/** Puts the engine together. */

import { agentsOf } from './agents.ts';
import { aliasesOf } from './aliases.ts';
import { applyingOf } from './applying.ts';
import { approvalsOf } from './approvals.ts';
import { auditOf } from './audit.ts';
import { blobsOf } from './blobs.ts';
import { botsOf } from './bots.ts';
import { bulksOf } from './bulk.ts';
import { Core, type EngineOptions } from './core.ts';
import { deliveriesOf } from './deliveries.ts';
import type { Engine, LoginSettings } from './engine.ts';
import { jobsOf } from './jobs.ts';
import { loginsOf } from './logins.ts';
import { leasesOf } from './leases.ts';
import { messagesOf } from './messages.ts';
import { Passwords } from './passwords.ts';
import { questionsOf } from './questions.ts';
import { poolsOf, routingOf, typesOf } from './routing.ts';
import { runsOf } from './runs.ts';
import { schedulesOf } from './schedules.ts';
import { sessionsOf } from './sessions.ts';
import { spendingOf } from './spending.ts';
import { subscriptionsOf } from './subscriptions.ts';
import { taskDataOf } from './task-data.ts';
import { tasksOf } from './tasks.ts';
import { tokensOf } from './tokens.ts';
import { usersOf } from './users.ts';
import { workersOf } from './workers.ts';

const LOGINS: LoginSettings = { secret: null, accessMs: 3_600_000, refreshMs: 168 * 3_600_000 };

export interface OpenEngine extends Engine {
  /** For the loops, which keep the engine going. */
  readonly core: Core;
}

export function openEngine(options: EngineOptions): OpenEngine {
  const core = new Core(options);
  const jobs = jobsOf(core);
  const leases = leasesOf(core);
  const passwords = new Passwords();
  return {
    core,
    jobs,
    bulks: bulksOf(core),
    leases,
    types: typesOf(core),
    routing: routingOf(core),
    pools: poolsOf(core),
    spending: spendingOf(core),
    blobs: blobsOf(core),
    tokens: tokensOf(core),
    audit: auditOf(core),
    schedules: { ...schedulesOf(core), ...applyingOf(core) },
    runs: runsOf(core),
    approvals: approvalsOf(core),
    messages: messagesOf(core),
    questions: questionsOf(core),
    agents: agentsOf(core),
    counts: async () => core.store.read.counters.all(),
    metered: () => core.meters,
    standing: async () => ({
      oldestReadyAt: await core.store.read.jobs.oldestReadyAt(),
      unnumberedAt: await core.store.read.feed.unnumberedAt(),
    }),
    aliases: aliasesOf(core),
    subscriptions: subscriptionsOf(core),
    deliveries: deliveriesOf(core),
    tasks: tasksOf(core, jobs),
    workers: workersOf(core),
    sessions: sessionsOf(core, jobs),
    users: usersOf(core, passwords),
    logins: loginsOf(core, passwords, options.logins ?? LOGINS),
    bots: botsOf(core, leases),
    taskData: taskDataOf(core),
    now: () => core.now(),
    onNewEvents: (listener) => core.feed.watch(listener),
  };
}
