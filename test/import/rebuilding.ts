import path from 'node:path';
import { type Journal, openJournal } from '../../src/files/journal.ts';
import { readJournal } from '../../src/files/journal-read.ts';
import { rebuild, type RebuildReport } from '../../src/import/rebuild.ts';
import { type Bench, drain, openBench } from '../files/fixture.ts';

export function journalOf(bench: Bench, more: object = {}): Promise<Journal> {
  return openJournal({
    dir: path.join(bench.dir, 'journal'),
    store: bench.store,
    clock: bench.clock,
    ...more,
  });
}

/** Writes everything there is to write, as a server does before it stops. */
export async function writeAll(bench: Bench): Promise<void> {
  const journal = await journalOf(bench);
  await drain(journal);
  await journal.close();
}

/** Rebuilds into a second database beside the first. */
export async function rebuilt(bench: Bench): Promise<{ other: Bench; report: RebuildReport }> {
  const other = openBench(bench.dir, 'spine.db.new');
  const report = await rebuild({
    journal: readJournal(path.join(bench.dir, 'journal')),
    store: other.store,
    dir: bench.dir,
    now: bench.clock.now(),
    defaults: { leaseMs: 60_000, maxAttempts: 3 },
  });
  // Time goes on where it was.
  other.clock.pass(bench.clock.now() - other.clock.now());
  return { other, report };
}
