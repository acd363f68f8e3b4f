/** `spine import`: schedules of other programs. Each carries a mark, so that the second time finds the first. */

import { type NewSchedule, SpineApiError, type SpineClient } from '../../client/index.ts';
import type { Handler } from '../command.ts';
import { EXIT } from '../failure.ts';
import { type Foreign, type ForeignAlias, markOf, type Source, type SourceKind } from '../import/foreign.ts';
import { readSource } from '../import/source.ts';
import { type Line, styled } from '../text/line.ts';
import { relative } from '../text/times.ts';
import { SilentExit } from './silent-exit.ts';

interface Imported {
  readonly name: string;
  readonly action: 'import' | 'known' | 'left_out';
  readonly id: string | null;
  readonly rule: string | null;
  readonly next_run_at: string | null;
  readonly reason: string | null;
  readonly notes: readonly string[];
}

const SOURCES: Readonly<Record<SourceKind, string>> = {
  openclaw: "OpenClaw's cron jobs",
  scheduler: "a scheduler's database",
  crontab: 'a crontab',
};

export const importSchedules: Handler<{ readonly dryRun?: boolean }> = async (
  session,
  { args: [file = ''], options },
) => {
  const source = await readSource(file, session.now());
  const client = await session.client();
  const isDry = options.dryRun === true;
  const results = await importAll(client, source, isDry);
  session.out.result({
    value: { source: source.kind, dry_run: isDry, results, notes: source.notes },
    lines: () => [
      ...results.flatMap((each) => linesOf(each, session.now())),
      `${SOURCES[source.kind]}: ${summary(results, isDry)}`,
      ...source.notes.map((note): Line => `    note: ${note}`),
    ],
    ids: () => results.flatMap(({ id, action }) => (id !== null && action === 'import' ? [id] : [])),
  });
  if (isDry) session.out.info('Nothing was made (dry run).');
  if (results.some(({ action }) => action === 'left_out')) throw new SilentExit(EXIT.failure);
};

async function importAll(client: SpineClient, source: Source, isDry: boolean): Promise<Imported[]> {
  const known = new Map<string, string>();
  for await (const { id, managed_by: mark } of client.schedules.list({ limit: 1_000 }))
    if (typeof mark === 'string') known.set(mark, id);
  const results: Imported[] = await bringAliases(client, source.aliases, isDry);
  /** What the parents of the source are here. */
  const ids = new Map<string, string>();
  for (const each of source.schedules) {
    const id = known.get(markOf(source.kind, each.key));
    const result =
      id === undefined
        ? await bring(client, source.kind, each, ids, isDry)
        : told({ name: each.name, notes: [] }, { action: 'known', id });
    if (result.action !== 'left_out') ids.set(each.key, result.id ?? 'to-be-made');
    results.push(result);
  }
  return [...results, ...source.unfit.map(({ name, reason }) => told({ name, notes: [] }, { reason }))];
}

/** Where one leads that is here already is the operator's decision; another place is only pointed out. */
async function bringAliases(
  client: SpineClient,
  aliases: readonly ForeignAlias[],
  isDry: boolean,
): Promise<Imported[]> {
  if (aliases.length === 0) return [];
  const known = new Map((await client.aliases.list()).map((each) => [each.alias, each]));
  const results: Imported[] = [];
  for (const each of aliases) {
    const here = known.get(each.alias);
    const name = `@${each.alias}`;
    const rule = `${each.channel}:${each.target}`;
    try {
      if (here === undefined && !isDry) await client.aliases.save(each);
      const notes =
        here === undefined || `${here.channel}:${here.target}` === rule ? [] : [`it led to ${rule}`];
      results.push(told({ name, notes }, { action: here === undefined ? 'import' : 'known', rule }));
    } catch (error) {
      if (refusedField(error) === null) throw error;
      results.push(told({ name, notes: [] }, { reason: (error as SpineApiError).message }));
    }
  }
  return results;
}

/** Without these it would be another schedule; the others are left out when they are refused, and named. */
const ESSENTIAL =
  /^(name|schedule|payload_message|payload_kind|session_target|agent_id|parent|trigger|approval|resource_pool|max_retries|overlap_policy|managed_by|gateway)/;

/** A channel without its address would be refused next. */
const TOGETHER = ['delivery_channel', 'delivery_to'];

async function bring(
  client: SpineClient,
  kind: SourceKind,
  foreign: Foreign,
  ids: ReadonlyMap<string, string>,
  isDry: boolean,
): Promise<Imported> {
  const { key, parentKey } = foreign;
  const parentId = parentKey === null ? null : ids.get(parentKey);
  if (parentId === undefined) return told(foreign, { reason: 'its parent is not imported' });
  const parent = parentId === null ? {} : { parent_id: parentId };
  const fields: Record<string, unknown> = { ...foreign.fields, ...parent, managed_by: markOf(kind, key) };
  const notes = [...foreign.notes];
  for (;;) {
    try {
      if (isDry) {
        const { rule, next_runs: next } = await client.schedules.previewNew(fields, 1);
        const nextRunAt = foreign.fields['enabled'] === false ? null : (next[0] ?? null);
        return told({ ...foreign, notes }, { action: 'import', rule, next_run_at: nextRunAt });
      }
      const made = await client.schedules.create(fields as unknown as NewSchedule);
      const { id, rule, next_run_at: next } = made;
      return told({ ...foreign, notes }, { action: 'import', id, rule, next_run_at: next });
    } catch (error) {
      const field = refusedField(error);
      if (field === null) throw error;
      const reason = (error as SpineApiError).message;
      if (ESSENTIAL.test(field) || !(field in fields)) return told(foreign, { reason });
      notes.push(reason);
      for (const one of TOGETHER.includes(field) ? TOGETHER : [field]) delete fields[one];
    }
  }
}

function refusedField(error: unknown): string | null {
  if (!(error instanceof SpineApiError) || error.status !== 400) return null;
  const { field } = error.details;
  return typeof field === 'string' ? field : '';
}

function told(
  { name, notes }: Pick<Foreign, 'name' | 'notes'>,
  facts: Partial<Omit<Imported, 'name' | 'notes'>>,
): Imported {
  const told = {
    action: 'left_out',
    id: null,
    rule: null,
    next_run_at: null,
    reason: null,
    ...facts,
  } as const;
  return { name, ...told, notes: told.action === 'left_out' ? [] : notes };
}

const SIGNS = {
  import: styled('green', '+'),
  known: styled('dim', '='),
  left_out: styled('red', '!'),
} as const;

function linesOf({ name, action, rule, next_run_at: next, reason, notes }: Imported, nowMs: number): Line[] {
  const words = {
    import: `${rule ?? ''}${next === null ? '' : `, next ${relative(next, nowMs)}`}`,
    known: 'is here already',
    left_out: `is left out: ${reason ?? ''}`,
  }[action];
  return [
    [SIGNS[action], ' ', styled('bold', name), ` ${words}`],
    ...notes.map((note): Line => `    note: ${note}`),
  ];
}

function summary(results: readonly Imported[], isDry: boolean): string {
  const counts = [
    ['import', isDry ? 'to be imported' : 'imported'],
    ['known', 'here already'],
    ['left_out', 'left out'],
  ] as const;
  const said = counts.flatMap(([action, did]) => {
    const count = results.filter((each) => each.action === action).length;
    return count === 0 ? [] : [`${count} ${did}`];
  });
  return said.length === 0 ? 'it holds no schedule' : said.join(', ');
}
