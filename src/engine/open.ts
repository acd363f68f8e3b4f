/** Puts the engine together. */

import { approvalsOf } from './approvals.ts';
import { auditOf } from './audit.ts';
import { blobsOf } from './blobs.ts';
import { Core, type EngineOptions } from './core.ts';
import type { Engine } from './engine.ts';
import { jobsOf } from './jobs.ts';
import { leasesOf } from './leases.ts';
import { messagesOf } from './messages.ts';
import { poolsOf, routingOf, typesOf } from './routing.ts';
import { runsOf } from './runs.ts';
import { schedulesOf } from './schedules.ts';
import { tokensOf } from './tokens.ts';

export interface OpenEngine extends Engine {
  /** For the loops, which keep the engine going. */
  readonly core: Core;
}

export function openEngine(options: EngineOptions): OpenEngine {
  const core = new Core(options);
  return {
    core,
    jobs: jobsOf(core),
    leases: leasesOf(core),
    types: typesOf(core),
    routing: routingOf(core),
    pools: poolsOf(core),
    blobs: blobsOf(core),
    tokens: tokensOf(core),
    audit: auditOf(core),
    schedules: schedulesOf(core),
    runs: runsOf(core),
    approvals: approvalsOf(core),
    messages: messagesOf(core),
    counts: async () => core.store.read.counts(),
    now: () => core.now(),
    onNewEvents: (listener) => core.feed.watch(listener),
  };
}
