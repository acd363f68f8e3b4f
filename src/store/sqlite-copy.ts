/** A consistent copy of a SQLite database that may be in use by another process. */

import { chmodSync } from 'node:fs';
import { backup, DatabaseSync } from 'node:sqlite';

/** Copies in one go: a copy in steps would start over with every commit of a busy server. */
const ALL_PAGES = 2 ** 30;

/** Answers how many pages the copy has, after checking that it is whole. */
export async function copyDatabase(from: string, to: string): Promise<number> {
  const source = new DatabaseSync(from, { readOnly: true, timeout: 10_000 });
  try {
    const pages = await backup(source, to, { rate: ALL_PAGES });
    chmodSync(to, 0o600);
    const copy = new DatabaseSync(to);
    try {
      // The copy is one file that needs no log beside it.
      copy.exec('pragma journal_mode = delete');
      const row = copy.prepare('pragma integrity_check').get();
      if (row?.['integrity_check'] !== 'ok')
        throw new Error(`The copy of ${from} is damaged; the original may be too. Run \`spine rebuild\`.`);
    } finally {
      copy.close();
    }
    return pages;
  } finally {
    source.close();
  }
}

/** Which installation a database belongs to. */
export function identityOf(file: string): string {
  const database = new DatabaseSync(file, { readOnly: true });
  try {
    const row = database.prepare("select value from meta where name = 'identity'").get();
    return String(row?.['value']);
  } finally {
    database.close();
  }
}

/** What SQLite finds wrong with a file that nobody has open, or null. */
export function damageOf(file: string): string | null {
  try {
    const database = new DatabaseSync(file, { readOnly: true });
    try {
      const said = String(database.prepare('pragma integrity_check(1)').get()?.['integrity_check']);
      return said === 'ok' ? null : said;
    } finally {
      database.close();
    }
  } catch (error) {
    return (error as Error).message;
  }
}
