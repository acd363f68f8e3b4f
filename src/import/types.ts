/** Types as their files tell them, for a rebuild without a journal. */

import { isJsonObject } from '../domain/json-object.ts';
import { readdir } from 'node:fs/promises';
import path from 'node:path';
import type { Scoring } from '../domain/scoring.ts';
import type { Store } from '../store/store.ts';
import { readFields, textOf, timeOf, wholeOf } from './v0-files.ts';

/** Answers the files that are no types, or whose schema is none: those types come without it. */
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
    const schema = textOf(fields['paramsSchema']);
    if (schema !== null && !isObjectText(schema)) unreadable.push(`types/${file}`);
    const type = {
      no,
      name,
      label: textOf(fields['label']) ?? name,
      sop: textOf(fields['sop']),
      // Whoever claims a job gets this text as it is, so that anything but JSON would spoil the answer.
      paramsSchema: schema !== null && isObjectText(schema) ? schema : null,
      maxRetries: wholeOf(fields['maxRetries']),
      backoffMs: wholeOf(fields['backoffMs']),
      scoring: scoringOf(fields['scoring']),
      provider: textOf(fields['provider']),
      declared: fields['declared'] === true,
      active: fields['active'] !== false,
      createdAt: timeOf(fields['createdAt']) ?? 0,
      updatedAt: timeOf(fields['updatedAt']) ?? 0,
    };
    await store.transaction(0, async (tx) => tx.types.insertRaw(type));
  }
  return unreadable;
}

/** As this program wrote it down. */
function scoringOf(value: unknown): Scoring | null {
  return typeof value === 'object' ? value : null;
}

function isObjectText(json: string): boolean {
  try {
    const value: unknown = JSON.parse(json);
    return isJsonObject(value);
  } catch {
    return false;
  }
}
