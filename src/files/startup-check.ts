/**
 * The first look at the files, before any command runs: whether they tell of this very database. Later nobody could
 * say, because a database restored from a backup soon grows past the place where they ended.
 */

import { rename } from 'node:fs/promises';
import path from 'node:path';
import type { Store } from '../store/store.ts';
import { type JournalEnd, readEnd } from './journal-segments.ts';
import { continues, type Mark } from './feed-mark.ts';
import { openWatermark } from './watermark.ts';

type Compared = Pick<Store, 'identity' | 'read'>;

export interface StartupCheck {
  /** Where an older journal went that does not belong to this database, if there was one. */
  readonly setAside: string | null;
  /** How far each has come. */
  readonly journal: Mark | null;
  readonly files: Mark | null;
}

export async function compareFiles(dir: string, store: Compared): Promise<StartupCheck> {
  const { end, setAside } = await compareJournal(path.join(dir, 'journal'), store);
  const { mark } = await openWatermark(dir, store);
  return { setAside, journal: end.mark, files: mark };
}

/** A journal of another database, or of another past, is put aside. */
export async function compareJournal(
  dir: string,
  store: Compared,
): Promise<{ readonly end: JournalEnd; readonly setAside: string | null }> {
  const end = await readEnd(dir);
  const belongs =
    (end.identity === null || end.identity === store.identity) && (await continues(store.read, end.mark));
  return belongs ? { end, setAside: null } : { end: NOTHING, setAside: await putAside(dir) };
}

const NOTHING: JournalEnd = { identity: null, mark: null, bytes: 0, baseBytes: 0 };

async function putAside(dir: string): Promise<string> {
  for (let n = 1; ; n++) {
    const aside = `${dir}.before-${n}`;
    try {
      await rename(dir, aside);
      return aside;
    } catch (error) {
      const taken = ['ENOTEMPTY', 'EEXIST', 'EPERM'].includes((error as NodeJS.ErrnoException).code ?? '');
      if (!taken || n > 1_000) throw error;
    }
  }
}
