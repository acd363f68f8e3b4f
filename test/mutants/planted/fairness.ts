/** What one caller can do to the others. */

import type { Mutant } from '../mutant.ts';

export const FAIRNESS: readonly Mutant[] = [
  {
    name: 'transactions-before-commands',
    means: 'a run that sends messages without end keeps all claims and heartbeats waiting',
    file: 'src/engine/flusher.ts',
    find: `if (this.#mayRunAlone() && (this.#next.of === 'alone' || !this.#hasCommands())) {`,
    replace: `if (this.#mayRunAlone()) {`,
    seenBy: ['test/engine/fairness.test.ts'],
  },
  {
    name: 'principals-not-in-rotation',
    means: 'the calls of one principal stand before those of all others',
    file: 'src/engine/fair-queue.ts',
    find: `if (isEmpty || this.#lines.size > 1) this.#lines.delete(principal);`,
    replace: `if (isEmpty) this.#lines.delete(principal);`,
    seenBy: ['test/engine/fairness.test.ts'],
  },
  {
    name: 'full-for-everybody',
    means: 'one caller that fills the queue has the calls of all others refused',
    file: 'src/engine/fair-queue.ts',
    find: `return line !== undefined && line.pieces.length - line.taken >= this.#size / this.#lines.size;`,
    replace: `return true;`,
    seenBy: ['test/engine/fairness.test.ts'],
  },
  {
    name: 'heartbeats-in-line',
    means: 'heartbeats wait behind the creates of others, and healthy workers lose their leases',
    file: 'src/engine/flusher.ts',
    find: `return commands.every(({ kind }) => kind === 'heartbeat') ? this.#heartbeats.queue : this.#commands;`,
    replace: `return this.#commands;`,
    seenBy: ['test/engine/fairness.test.ts'],
  },
  {
    name: 'heartbeats-among-the-rest',
    means: 'on PostgreSQL heartbeats wait until a connection is free on which everybody writes',
    file: 'src/store/postgres.ts',
    find: `this.heartbeatLanes = { first: options.lanes, waiting: options.lanes + 1 };`,
    replace: `this.heartbeatLanes = { first: 0, waiting: 0 };`,
    seenBy: ['test/engine/fairness.test.ts'],
    only: 'while every other lane is busy',
  },
  {
    name: 'held-rows-waited-for',
    means: 'whoever holds the row of one job keeps the heartbeats of all others waiting',
    file: 'src/engine/flush.ts',
    find: `const lock = passesOver ? tx.jobs.lockFree : tx.jobs.lock;`,
    replace: `const lock = tx.jobs.lock;`,
    seenBy: ['test/engine/fairness.test.ts'],
    only: 'keeps no other waiting',
  },
  {
    name: 'strangers-not-in-line',
    means: 'whoever invents tokens of runs keeps the reads of all others waiting',
    file: 'src/engine/strangers.ts',
    find: `if (this.#lookedUp < AT_ONCE) this.#lookedUp++;`,
    replace: `if (this.#lookedUp < Infinity) this.#lookedUp++;`,
    seenBy: ['test/engine/strangers.test.ts'],
  },
  {
    name: 'callers-behind-lists',
    means: 'a run that was heard from before waits behind the lists of others to be known again',
    file: 'src/engine/strangers.ts',
    find: `? await lookUp(this.#store.readCallers)`,
    replace: `? await lookUp(this.#store.read)`,
    seenBy: ['test/engine/strangers.test.ts'],
  },
  {
    name: 'beats-not-limited',
    means: 'a worker tells of its slots as often as it likes, and every time is a commit of its own',
    file: 'src/http/doors/bridge/heartbeats.ts',
    find: `load: 'beat'`,
    replace: `load: 'lease'`,
    seenBy: ['test/http/limits.test.ts'],
    only: 'beats of slots',
  },
  {
    name: 'foreign-notify-ends-server',
    means: 'anybody who may connect to the database ends every server with one NOTIFY',
    file: 'src/store/postgres-wake.ts',
    find: `  try {
    value = JSON.parse(payload ?? '');
  } catch {
    return null;
  }`,
    replace: `  value = JSON.parse(payload ?? '');`,
    seenBy: ['test/conformance/postgres.test.ts'],
    only: 'wake|NOTIFY|channel',
  },
  {
    name: 'rate-not-limited',
    means: 'one run sends messages as fast as the server answers',
    file: 'src/http/call-limits.ts',
    find: `if (allowance.left < 1) return refusal`,
    replace: `if (allowance.left < -1_000_000) return refusal`,
    seenBy: ['test/http/limits.test.ts'],
  },
  {
    name: 'open-calls-not-limited',
    means: 'one run opens as many calls at once as it likes',
    file: 'src/http/call-limits.ts',
    find: `if (limit.most === 0 || open < limit.most) return null;`,
    replace: `return null;`,
    seenBy: ['test/http/limits.test.ts'],
  },
  {
    name: 'page-without-byte-bound',
    means: 'a few lists of large jobs take all memory',
    file: 'src/http/page.ts',
    find: `if (items.length > 0 && bytes > granted) return { items, next: from };`,
    replace: ``,
    seenBy: ['test/http/page-size.test.ts'],
    only: 'of jobs ends before it is too long',
  },
  {
    name: 'heartbeats-rate-limited',
    means: 'a worker that keeps many calls open loses its leases',
    file: 'src/http/call-limits.ts',
    find: `if (keeps(load)) {
    principal.leaseBytes`,
    replace: `if (load === 'stream' && bytes < 0) {
    principal.leaseBytes`,
    seenBy: ['test/http/limits.test.ts'],
  },
  {
    name: 'claims-at-once-uncounted',
    means: 'a bot that claims many times at once holds more than its share',
    file: 'src/engine/bot-room.ts',
    find: `if ((this.#rooms.get(name) ?? 0) <= 0) return false;
    this.#add(this.#rooms, name, -1);`,
    replace: `if ((this.#rooms.get(name) ?? 0) <= 0) return false;`,
    seenBy: ['test/engine/presence.test.ts'],
  },
  {
    name: 'task-pages-without-end',
    means: 'a client that reads the tasks page by page never stops',
    file: 'src/http/doors/clawdbot/task-list.ts',
    find: `"has_more":\${shown < nos.length}}`,
    replace: `"has_more":\${shown <= nos.length}}`,
    seenBy: ['test/http/bot-pages.test.ts'],
    only: 'of tasks keeps its order',
  },
];
