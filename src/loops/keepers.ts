/** Small duties that keep the engine's view of the world fresh. */

import { loopActor } from '../domain/actor.ts';
import { isFinal } from '../domain/job.ts';
import type { Core } from '../engine/core.ts';
import type { Duty } from './loop.ts';

const SEQUENCER = loopActor('sequencer');
const COMMITS_A_PASS = 5_000;
/** How often to number while somebody follows the feed. */
const WATCHED_MS = 50;

/** Looks at the counters: the queue's limit is judged by them. */
export function gauge(core: Core): Duty {
  return {
    name: 'gauge',
    everyMs: 1_000,
    runOnce: async () => {
      const counts = await core.store.read.counters.all();
      core.unfinished = counts.filter(({ state }) => !isFinal(state)).reduce((sum, { n }) => sum + n, 0);
      return { done: 1, more: false };
    },
  };
}

/** A server that was not heard from for so long serves nothing. */
const SERVES_MS = 10_000;

/** Looks at what the other servers serve (PostgreSQL only): work that one of them does is not left. */
export function gatewayWatch(core: Core): Duty {
  return {
    name: 'gateways',
    everyMs: 1_000,
    runOnce: async () => {
      core.gatewaysElsewhere = await core.store.read.servers.gatewaysElsewhere(
        core.server,
        core.now() - SERVES_MS,
      );
      return { done: 0, more: false };
    },
  };
}

/** Gives commits their place in the event feed (PostgreSQL only; SQLite's have one at once). */
export function sequencer(core: Core): Duty {
  return {
    name: 'sequencer',
    everyMs: 500,
    runOnce: async () => {
      const done = await core.flusher.transact(SEQUENCER, async (tx) => tx.feed.number(COMMITS_A_PASS));
      // Another server may have numbered what somebody here waits for, so watchers look after every pass.
      core.feed.announce();
      const nextInMs = core.feed.watched ? WATCHED_MS : null;
      return { done, more: done === COMMITS_A_PASS, nextInMs };
    },
  };
}

/** Ends that one pass looks for. */
const ENDS_A_PASS = 1_000;

/** Waiting claimers look again now and then, in case a hint was lost between servers; so do those who wait for an end. */
export function waiterPoll(core: Core): Duty {
  return {
    name: 'waiters',
    everyMs: 1_000,
    runOnce: async () => {
      core.waiters.wakeOneOfEach();
      const awaited = core.ends.some(ENDS_A_PASS);
      const over = awaited.length === 0 ? [] : await core.store.read.jobs.overAmong(awaited);
      for (const root of over) core.ends.wake(root);
      return { done: over.length, more: false };
    },
  };
}

/** Pauses and types that another server changed are read again. */
export function routingWatch(core: Core): Duty {
  return {
    name: 'routing',
    everyMs: 1_000,
    runOnce: async () => {
      const { revision } = await core.store.read.routing.current();
      if (revision !== (await core.routing()).revision) core.forgetRouting();
      return { done: 0, more: false };
    },
  };
}

/** Tokens that another server revoked stop working here too. */
export function tokenWatch(core: Core): Duty {
  return {
    name: 'tokens',
    everyMs: 1_000,
    runOnce: async () => {
      await core.tokens.refresh();
      return { done: 0, more: false };
    },
  };
}

/** Servers of one installation agree on the database's clock. */
export function clockSync(core: Core): Duty {
  return {
    name: 'clock',
    // A clock that somebody set is followed within this time.
    everyMs: 5_000,
    runOnce: async () => {
      await core.store.syncClock();
      return { done: 1, more: false };
    },
  };
}

/** The log of a quiet database would wait for ever to be moved into it; copies of the file alone would lack it. */
export function checkpointer(core: Core): Duty {
  return {
    name: 'checkpoint',
    everyMs: 3_600_000,
    runOnce: async () => {
      await core.store.checkpoint();
      return { done: 1, more: false };
    },
  };
}

/** Files that nobody writes to for a while may be gone all the same; their loss is noticed within a second. */
export function dataDirWatch(look: () => Error | null, onGone: (error: Error) => void): Duty {
  return {
    name: 'datadir',
    everyMs: 500,
    runOnce: async () => {
      const gone = look();
      if (gone !== null) onGone(gone);
      return { done: 0, more: false };
    },
  };
}

/** Gives back what was claimed in commits whose fate nobody knows, once the store can be asked again. */
export function unknownClaimKeeper(core: Core): Duty {
  return {
    name: 'unknown-claims',
    everyMs: 1_000,
    runOnce: async () => {
      if (core.unknownClaims.size === 0) return { done: 0, more: false };
      const done = await core.unknownClaims.giveBack((command) => core.perform(command));
      return { done, more: done > 0 && core.unknownClaims.size > 0 };
    },
  };
}
