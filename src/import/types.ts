/** Types as their files tell them, for a rebuild without a journal. */

import { readdir } from 'node:fs/promises';
import path from 'node:path';
import type { Store } from '../store/store.ts';
import { readFields, textOf, timeOf, wholeOf } from './v0-files.ts';

/** Answers the files that are no types. */
export async function importTypes(dir: string, store: Store): Promise<string[]> {
  const folder = path.join(dir, 'types');
  const unreadable: string[] = [];
  for (const file of (await readdir(folder).catch(() => [])).filter((name) => name.endsWith('.json'))) {
    const read = await readFields(path.join(folder, file));
    const fields = typeof read === 'string' ? {} : read;
    const no = wholeOf(fields['no']);
    const name = textOf(fields['name']);
    if (no === null || name === null) {
      unreadable.push(`types/${file}`);
      continue;
    }
    const type = {
      no,
      name,
      label: textOf(fields['label']) ?? name,
      sop: textOf(fields['sop']),
      paramsSchema: textOf(fields['paramsSchema']),
      active: fields['active'] !== false,
      createdAt: timeOf(fields['createdAt']) ?? 0,
      updatedAt: timeOf(fields['updatedAt']) ?? 0,
    };
    await store.transaction(0, async (tx) => tx.insertTypeRaw(type));
  }
  return unreadable;
}
