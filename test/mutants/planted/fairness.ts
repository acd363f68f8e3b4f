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
    find: `return commands.every(({ kind }) => kind === 'heartbeat') ? this.#heartbeats : this.#commands;`,
    replace: `return this.#commands;`,
    seenBy: ['test/engine/fairness.test.ts'],
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
    find: `if (principal.allowance < 1) return refusal`,
    replace: `if (principal.allowance < -1_000_000) return refusal`,
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
    find: `if (load === 'lease') {
    principal.leaseBytes`,
    replace: `if (load === 'stream' && bytes < 0) {
    principal.leaseBytes`,
    seenBy: ['test/http/limits.test.ts'],
  },
];
