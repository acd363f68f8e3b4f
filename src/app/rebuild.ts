/** Makes the embedded database anew from the files alone. */

import { join } from 'node:path';
import type { Out } from '../app.ts';
import type { Config } from '../config.ts';
import type { Clock, Ids } from '../domain/ports.ts';
import { journalIdentity, readJournal } from '../files/journal-read.ts';
import { type RebuildReport, rebuild as rebuildFrom } from '../import/rebuild.ts';
import { openForRebuild, type Rebuild } from '../store/datadir.ts';
import { openSqlite } from '../store/sqlite.ts';

class RebuildError extends Error {
  readonly exitCode = 1;
}

export async function rebuild(config: Config, out: Out, clock: Clock, ids: Ids): Promise<void> {
  if (config.databaseUrl !== null)
    throw new RebuildError('This installation is on PostgreSQL: restore it from its own backups.');
  const journalDir = join(config.dataDir, 'journal');
  const identity = await journalIdentity(journalDir);
  const target = openForRebuild(config.dataDir, { random: () => ids.jobId(clock.now()), identity });
  try {
    const report = await fill(config, target, journalDir, clock.now());
    const aside = target.commit();
    const n = (count: number): string => count.toLocaleString('en');
    out.print(
      `Rebuilt ${n(report.jobs)} jobs, ${n(report.events)} events, ${n(report.schedules)} schedules and ${n(report.blobs)} blobs from the ${report.from}.`,
    );
    if (report.uncertain > 0)
      out.print(`${n(report.uncertain)} jobs had ended in a way the files do not tell; they are failed now.`);
    if (report.unreadable.length > 0) out.warn(damageOf(report));
    if (aside !== null) out.print(`The old database is kept as ${aside}.`);
  } finally {
    target.release();
  }
}

/** How much of the files could not be used, and where; what only they told is not in the new database. */
function damageOf({ from, unreadable }: RebuildReport): string {
  const places = unreadable.slice(0, 10).join(', ');
  const more = unreadable.length > 10 ? ' and others' : '';
  return `In ${unreadable.length.toLocaleString('en')} places the ${from} cannot be read or changed since it was written; jobs or changes may be missing. Look at ${places}${more}.`;
}

async function fill(
  config: Config,
  target: Rebuild,
  journalDir: string,
  now: number,
): Promise<RebuildReport> {
  const store = openSqlite({ file: target.dbFile, identity: target.identity });
  try {
    const defaults = { leaseMs: config.leaseMs, maxAttempts: config.defaultMaxAttempts };
    return await rebuildFrom({ journal: readJournal(journalDir), store, dir: config.dataDir, now, defaults });
  } finally {
    await store.close();
  }
}
