/** Claims and everything their holders do. */

import type { Actor, ClaimedJob, ClaimNext, LeaseOffer } from '../domain/command.ts';
import { SpineError } from '../domain/error.ts';
import { LIMITS } from '../domain/limits.ts';
import type { Core } from './core.ts';
import type { ClaimNextOptions, ClaimOptions, Leases } from './engine.ts';

export function leasesOf(core: Core): Leases {
  return {
    claim: (actor, id, options = {}) =>
      core.perform({ kind: 'claim', actor, id, offer: offer(core, options) }),
    claimNext: (actor, options) => claimNext(core, actor, options),
    heartbeat: (actor, id, leaseToken, progress) =>
      core.perform({
        kind: 'heartbeat',
        actor,
        id,
        leaseToken,
        progress: bounded('progress', progress, LIMITS.progressBytes),
      }),
    complete: (actor, id, leaseToken, result) =>
      core.perform({ kind: 'complete', actor, id, leaseToken, result: json(result) }),
    fail: (actor, id, leaseToken, error, requeue) =>
      core.perform({ kind: 'fail', actor, id, leaseToken, error: json(error), requeue }),
    release: (actor, id, leaseToken, reason) =>
      core.perform({ kind: 'release', actor, id, leaseToken, reason }),
    log: (actor, id, leaseToken, lines) => core.perform({ kind: 'log', actor, id, leaseToken, lines }),
  };
}

async function claimNext(
  core: Core,
  actor: Actor,
  options: ClaimNextOptions,
): Promise<readonly ClaimedJob[]> {
  const typeNos = await typeNosOf(core, options.types);
  if (options.waitMs > 0 && core.waiters.size >= LIMITS.waitingClaims)
    throw new SpineError('overloaded', { retryAfterS: 1 });
  const endsAt = core.now() + options.waitMs;
  const ticket = core.waiters.enter(options.targets);
  let found: readonly ClaimedJob[] = [];
  try {
    for (;;) {
      ticket.woken = false;
      const answer = await core.flusher.submit(command(core, actor, options, typeNos));
      found = answer.jobs;
      const leftMs = endsAt - core.now();
      if (found.length > 0 || options.signal?.aborted) return found;
      if (answer.more) continue;
      if (leftMs <= 0 || core.stopping) return found;
      await core.waiters.wait(ticket, leftMs, options.signal);
      if (options.signal?.aborted) return found;
    }
  } finally {
    // A hint that came while this claimer was already being served belongs to the next one.
    core.waiters.leave(ticket, ticket.woken);
  }
}

/** Which types may be taken. With some of them paused, "all" has to be spelled out. */
async function typeNosOf(core: Core, names: readonly string[] | undefined): Promise<number[] | null> {
  const types = await core.types();
  if (names !== undefined) return names.map((name) => types.get(name)?.no ?? -1);
  const { pausedTypes } = await core.routing();
  return pausedTypes.size === 0 ? null : [0, ...[...types.values()].map((type) => type.no)];
}

function command(
  core: Core,
  actor: Actor,
  options: ClaimNextOptions,
  typeNos: readonly number[] | null,
): ClaimNext {
  const offers = Array.from({ length: options.max }, () => offer(core, options));
  return { kind: 'claimNext', actor, targets: options.targets, typeNos, max: options.max, offers };
}

function offer(core: Core, options: ClaimOptions): LeaseOffer {
  return {
    token: core.ids.leaseToken(),
    leaseMs: options.leaseMs ?? null,
    policy: options.policy ?? 'own',
    claimId: options.claimId ?? null,
  };
}

/** Progress is written with every heartbeat, so it has to stay small. */
function bounded(field: string, value: unknown, limitBytes: number): string | null {
  const text = json(value);
  if (text !== null && Buffer.byteLength(text) > limitBytes) {
    throw new SpineError('bad_request', {
      field,
      problem: `${field} must take at most ${limitBytes} bytes as JSON`,
    });
  }
  return text;
}

function json(value: unknown): string | null {
  return value === undefined || value === null ? null : JSON.stringify(value);
}
