/** Finds out which field each name of a body means: the text's names, camelCase, synonyms. */

import { SCHEDULE_FIELDS, type ScheduleKey, snakeName } from './schedule-fields.ts';
import { suggest } from './suggest.ts';

export interface Given {
  /** As it was written, for the refusal. */
  readonly written: string;
  readonly value: unknown;
}

export type Named =
  | { readonly ok: true; readonly given: ReadonlyMap<ScheduleKey, Given> }
  | { readonly ok: false; readonly field: string; readonly problem: string };

/** Shown in answers, and decided by Spine. */
const READ_ONLY = new Set(
  'id no created_at created_by updated_at spawned_by last_run_at last_status consecutive_errors run_count queued_count rule'.split(
    ' ',
  ),
);

const KEYS = new Map<string, ScheduleKey>(
  SCHEDULE_FIELDS.flatMap(({ key, name, synonyms = [] }) =>
    [key, name, ...synonyms].map((known) => [known, key] as const),
  ),
);

export function namedFields(draft: Readonly<Record<string, unknown>>): Named {
  const given = new Map<ScheduleKey, Given>();
  for (const [written, value] of Object.entries(draft)) {
    if (value === undefined) continue;
    const key = KEYS.get(written);
    if (key === undefined)
      return { ok: false, field: shortened(written), problem: unknownField(shortened(written)) };
    const before = given.get(key);
    if (before !== undefined && before.value !== value)
      return {
        ok: false,
        field: written,
        problem: `${written} and ${before.written} name the same field with two values; send one of them.`,
      };
    given.set(key, { written, value });
  }
  return { ok: true, given };
}

function unknownField(written: string): string {
  if (READ_ONLY.has(snakeName(written))) return `${written} is decided by Spine; leave it out.`;
  const known = SCHEDULE_FIELDS.flatMap(({ name, synonyms = [] }) => [name, ...synonyms]);
  const meant = suggest(snakeName(written).replaceAll('-', '_'), known);
  return `${written} is not a field of a schedule; ${meant === undefined ? 'leave it out.' : `did you mean ${meant}?`}`;
}

/** A name nobody chose for its length. */
function shortened(written: string): string {
  return written
    .slice(0, 64)
    .replace(/\p{Cc}/gu, ' ')
    .toWellFormed();
}
