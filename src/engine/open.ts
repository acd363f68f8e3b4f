/** Puts the engine together. */

import { auditOf } from './audit.ts';
import { blobsOf } from './blobs.ts';
import { Core, type EngineOptions } from './core.ts';
import type { Engine } from './engine.ts';
import { jobsOf } from './jobs.ts';
import { leasesOf } from './leases.ts';
import { poolsOf, routingOf, typesOf } from './routing.ts';
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
    counts: async () => core.store.read.counts(),
    now: () => core.now(),
    onNewEvents: (listener) => core.feed.watch(listener),
  };
}
