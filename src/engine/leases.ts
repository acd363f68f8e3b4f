/** Claims and everything their holders do. */

import type {
  Accepted,
  Actor,
  ClaimedJob,
  ClaimNext,
  ClaimNextAnswer,
  Command,
  Complete,
  Fail,
  JobCommand,
  LeaseTerms,
} from '../domain/command.ts';
import { type Refusal, SpineError } from '../domain/error.ts';
import { LIMITS } from '../domain/limits.ts';
import { accepted, type Core } from './core.ts';
import { keepLate } from './late-words.ts';
import type { ClaimNextOptions, ClaimOptions, Ending, Leases } from './engine.ts';

export function leasesOf(core: Core): Leases {
  return {
    claim: (actor, id, options = {}) => {
      core.presence.hear(actor, core.now(), 'busy');
      return core.perform({
        kind: 'claim',
        actor,
        id,
        offer: { ...termsOf(core, options), token: core.ids.leaseToken() },
      });
    },
    claimNext: async (actor, options) => {
      core.presence.hear(actor, core.now(), 'idle');
      const claimed = await claimNext(core, actor, options);
      if (claimed.length > 0) core.presence.hear(actor, core.now(), 'busy');
      return claimed;
    },
    heartbeat: (actor, id, leaseToken, progress, also) => {
      core.presence.hear(actor, core.now(), 'busy');
      return core.perform({
        kind: 'heartbeat',
        actor,
        id,
        leaseToken,
        progress: bounded('progress', progress, LIMITS.progressBytes),
        ...also,
      });
    },
    complete: (actor, id, leaseToken, result, received, usage) => {
      const also = { ...(received && { received }), ...(usage && { usage }) };
      return core.perform(ending(core, actor, id, leaseToken, { verb: 'complete', result, ...also }));
    },
    fail: (actor, id, leaseToken, error, requeue, how = {}) =>
      core.perform(ending(core, actor, id, leaseToken, { verb: 'fail', error, requeue, ...how })),
    endThenClaim: async (actor, id, leaseToken, how, next) => {
      core.presence.hear(actor, core.now(), 'busy');
      const end = ending(core, actor, id, leaseToken, how);
      const typeNos = await typeNosOf(core, next.types);
      const [ended, claimed] = await core.flusher.submitTogether([
        end,
        command(core, actor, next, typeNos, end),
      ]);
      // The flusher answers in the order of the commands.
      return { ended: accepted(ended as Accepted | Refusal), next: (claimed as ClaimNextAnswer).jobs };
    },
    completeMany: async (actor, ends, next) => {
      const commands: Command[] = ends.map(({ id, leaseToken, result }) =>
        ending(core, actor, id, leaseToken, { verb: 'complete', result }),
      );
      if (next !== null) commands.push(command(core, actor, next, await typeNosOf(core, next.types), null));
      const answers = await core.flusher.submitTogether(commands);
      // The flusher answers in the order of the commands.
      const ended = answers.slice(0, ends.length) as (Accepted | Refusal)[];
      const claimed = answers[ends.length] as ClaimNextAnswer | undefined;
      return { ended, next: claimed?.jobs ?? [] };
    },
    giveBack: (actor, claimed, isNamed) => giveBack(core, actor, claimed, isNamed),
    release: (actor, id, leaseToken, reason, received) =>
      core.perform({ kind: 'release', actor, id, leaseToken, reason, ...(received && { received }) }),
    checkpoint: async (actor, id, leaseToken, value) =>
      core.perform({
        kind: 'checkpoint',
        actor,
        id,
        leaseToken,
        value: bounded('checkpoint', value, LIMITS.checkpointBytes) ?? 'null',
      }),
    tooLate: (actor, id, brought) => keepLate(core, actor, id, brought),
    log: (actor, id, leaseToken, lines) => core.perform({ kind: 'log', actor, id, leaseToken, lines }),
  };
}

async function claimNext(
  core: Core,
  actor: Actor,
  options: ClaimNextOptions,
): Promise<readonly ClaimedJob[]> {
  if (options.waitMs === 0) return claimNow(core, actor, options);
  if (core.waiters.size >= LIMITS.waitingClaims) throw new SpineError('overloaded', { retryAfterS: 1 });
  const endsAt = core.now() + options.waitMs;
  const ticket = core.waiters.enter(options);
  let handed: ClaimNextAnswer | null = null;
  try {
    for (;;) {
      let found: readonly ClaimedJob[] = handed?.jobs ?? [];
      if (found.length === 0) {
        ticket.woken = false;
        found = await claimNow(core, actor, options);
      }
      const leftMs = endsAt - core.now();
      // Whoever named the claim asks for it again, maybe already now.
      if (found.length > 0 && options.signal?.aborted && options.claimId === undefined) {
        await giveBack(core, actor, found, false);
        return [];
      }
      if (found.length > 0 || leftMs <= 0 || core.stopping || options.signal?.aborted) return found;
      const claim = command(core, actor, options, await typeNosOf(core, options.types), null);
      handed = await core.waiters.wait(ticket, leftMs, options.signal, claim);
    }
  } finally {
    // A hint that came while this claimer was already being served belongs to the next one.
    core.waiters.leave(ticket, ticket.woken);
  }
}

/**
 * Looks before a claimer is told that there is nothing. Rows that others look at are free in a moment; those of a
 * server that hangs may be hidden for longer than anybody should go in circles.
 */
const LOOKS = 20;

/** One look at the queue, repeated while full pools, or rows that others look at, stand between the claimer and work. */
async function claimNow(
  core: Core,
  actor: Actor,
  options: Omit<ClaimNextOptions, 'waitMs' | 'signal'>,
): Promise<readonly ClaimedJob[]> {
  for (let looks = 1; ; looks++) {
    // Looked up each time: a type may come into being while its claimer waits.
    const typeNos = await typeNosOf(core, options.types);
    const answer = await core.flusher.submit(command(core, actor, options, typeNos, null));
    if (answer.jobs.length > 0 || !answer.more || looks === LOOKS) return answer.jobs;
  }
}

const UNANSWERED = 'The claimer could not be answered.';

/**
 * The claimer never heard of its jobs: they are ready again at once, as if they had not been claimed. A named claim is
 * given back now or not at all: by the time it could be done later, its claimer may have asked again and been answered.
 */
async function giveBack(
  core: Core,
  actor: Actor,
  claimed: readonly Pick<ClaimedJob, 'job'>[],
  isNamed: boolean,
): Promise<void> {
  const releases = claimed.map(
    ({ job: { id, leaseToken } }): JobCommand => ({
      kind: 'release',
      actor,
      id,
      leaseToken,
      reason: UNANSWERED,
      unanswered: true,
    }),
  );
  try {
    // A refusal means that somebody else has seen to the job since.
    await core.flusher.submitTogether(releases);
  } catch (error) {
    // The leases would end by themselves, but late, and each would have taken an attempt.
    if (isNamed || !core.unknownClaims.keepFailed(releases, error)) throw error;
  }
}

function ending(
  core: Core,
  actor: Actor,
  id: string,
  leaseToken: string | null,
  how: Ending,
): Complete | Fail {
  const { received, usage } = how;
  const held = { actor, id, leaseToken, ...(received && { received }), ...(usage && { usage }) };
  if (how.verb === 'complete') return { kind: 'complete', ...held, result: json(how.result) };
  const { requeue, cause = null, backoff = false } = how;
  const spread = backoff ? core.ids.fraction() : null;
  return { kind: 'fail', ...held, error: json(how.error), requeue, cause, spread };
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
  options: Omit<ClaimNextOptions, 'waitMs' | 'signal'>,
  typeNos: readonly number[] | null,
  onlyIf: JobCommand | null,
): ClaimNext {
  const { targets, max, maxBytes, gatewaySlots = null, door } = options;
  const wanted = { targets, typeNos, max, terms: termsOf(core, options), gatewaySlots };
  return {
    kind: 'claimNext',
    actor,
    ...wanted,
    onlyIf,
    ...(maxBytes !== undefined && { maxBytes }),
    ...(door !== undefined && { door }),
  };
}

/** Under `presence` the server says how long, for all the same. */
function termsOf({ stuck }: Core, options: ClaimOptions): LeaseTerms {
  const isPresence = options.policy === 'presence';
  return {
    leaseMs: isPresence ? stuck.runningMs : (options.leaseMs ?? null),
    ...(isPresence && { limitMs: stuck.limitMs }),
    policy: options.policy ?? 'own',
    claimId: options.claimId ?? null,
    capabilities: options.capabilities ?? [],
  };
}

/** What is written again and again has to stay small. */
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
