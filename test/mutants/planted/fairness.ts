/** What one caller can do to the others. */

import type { Mutant } from '../mutant.ts';

export const FAIRNESS: readonly Mutant[] = [
  {
    name: 'transactions-before-commands',
    means: 'a run that sends messages without end keeps all claims and heartbeats waiting',
    file: 'src/engine/flusher.ts',
    find: `if (this.#mayRunAlone() && (this.#turn.of === 'alone' || !this.#hasCommands())) {`,
    replace: `if (this.#mayRunAlone()) {`,
    seenBy: ['test/engine/fairness.test.ts'],
  },
  {
    name: 'principals-not-in-turn',
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
];
