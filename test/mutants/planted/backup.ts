/** Backups and the way back. */

import type { Mutant } from '../mutant.ts';

export const BACKUP: readonly Mutant[] = [
  {
    name: 'backup-two-at-once',
    means: 'servers that share a database take away each other’s half-made backups',
    file: 'src/backup/run.ts',
    find: `postgresUrl === null ? null : await sharedLock(postgresUrl)`,
    replace: `postgresUrl === '' ? await sharedLock(postgresUrl) : null`,
    seenBy: ['test/backup/snapshot.test.ts'],
  },
  {
    name: 'backup-not-compared',
    means: 'a storage that loses bytes is found out on the day of the restore',
    file: 'src/backup/write.ts',
    find: `if (back.sha256 === sha256 && back.size === source.size) return;`,
    replace: `if (back.size >= 0) return;`,
    seenBy: ['test/backup/snapshot.test.ts'],
  },
  {
    name: 'backup-pool-trusted',
    means:
      'a bit that the storage changes after the first backup is in all that follow, and the file is lost',
    file: 'src/backup/write.ts',
    find: `if (!this.#isDue(sum)) return true;`,
    replace: `if (!this.#isDue(sum) || sum.size > 0) return true;`,
    seenBy: ['test/backup/restore.test.ts'],
    only: 'stored again by a rollup',
  },
  {
    name: 'killed-upload-counts',
    means: 'what a killed upload left is taken for a backup',
    file: 'src/backup/survey.ts',
    find: `complete: complete || isManifest,`,
    replace: `complete: complete || size >= 0,`,
    seenBy: ['test/backup/snapshot.test.ts'],
  },
  {
    name: 'pool-emptied-blindly',
    means: 'artifacts that only a damaged list names are removed from the storage',
    file: 'src/backup/retention.ts',
    find: `if (manifest === null) return null;`,
    replace: `if (manifest === null) continue;`,
    seenBy: ['test/backup/retention.test.ts'],
  },
  {
    name: 'backup-retention-not-heard',
    means: 'backups are kept for as long as snapshots are, whatever the settings say of rollups',
    file: 'src/app/backups.ts',
    find: `config.backupRollupDays * 24 * HOUR_MS`,
    replace: `config.backupRetentionH * HOUR_MS`,
    seenBy: ['test/backup/retention.test.ts'],
  },
  {
    name: 'collected-left-out',
    means: 'a restored server knows of what its bots collected, and has none of it',
    file: 'src/backup/write.ts',
    find: `if (staged.objects !== null) await`,
    replace: `if (staged.objects === undefined) await`,
    seenBy: ['test/backup/restore.test.ts'],
  },
  {
    name: 'rollup-preferred',
    means: 'a restore takes an hourly rollup though a newer snapshot is there',
    file: 'src/backup/restore.ts',
    find: `.toSorted((a, b) => b.at - a.at || a.kind.localeCompare(b.kind));`,
    replace: `.toSorted((a, b) => a.kind.localeCompare(b.kind) || b.at - a.at);`,
    seenBy: ['test/backup/restore.test.ts'],
  },
  {
    name: 'restore-overwrites',
    means: 'a restore into the wrong folder replaces the installation there without a word',
    file: 'src/backup/restore.ts',
    find: `if (target?.isOccupied === true && !force)`,
    replace: `if (target?.isOccupied === null && !force)`,
    seenBy: ['test/backup/restore.test.ts'],
  },
];
