/** `spine apply`: makes the server hold what files say, and shows the difference. */

import { basename, extname, resolve } from 'node:path';
import { type Applied, type AppliedSet, SpineApiError, type SpineClient } from '../../client/index.ts';
import { documentsOf, type Fault, type Kept, type Kind, sourcesIn } from '../apply/documents.ts';
import type { Handler } from '../command.ts';
import { CliError, EXIT } from '../failure.ts';
import type { Session } from '../session.ts';
import { type Line, styled } from '../text/line.ts';
import { confirm } from './confirm.ts';
import { readStdin } from './values.ts';

interface ApplyOptions {
  readonly file: string;
  readonly name?: string;
  readonly prune?: boolean;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
}

export const apply: Handler<ApplyOptions> = async (session, { options }) => {
  const { file } = options;
  const sources =
    file === '-' ? [{ file: 'standard input', text: await readStdin(session) }] : sourcesIn(file);
  const { kept, faults } = await documentsOf(sources);
  if (faults.length > 0) throw refusal(faults);
  const client = await session.client();
  const call = (dryRun: boolean): Promise<AppliedSet> => send(client, kept, options, dryRun);
  const plan = await call(true);
  if (options.name === undefined) refuseForeign(plan, setName(file));
  const gone = plan.results.filter(({ action }) => action === 'prune');
  if (!options.dryRun && gone.length > 0) await confirm(session, question(gone), options.yes);
  const set = options.dryRun ? plan : await call(false);
  session.out.result({
    value: set,
    lines: () => [...set.results.flatMap(changeLines), summary(set)],
    ids: () => set.results.flatMap(({ id, action }) => (id === null || action === 'unchanged' ? [] : [id])),
  });
  hints(session, set);
};

/** Folders of one name, such as those of two repositories, would delete what the other keeps. */
function refuseForeign({ results }: AppliedSet, name: string): void {
  const ours = results.filter(({ kind }) => kind === 'schedule');
  const others = ours.filter(({ action }) => action === 'prune' || action === 'extra');
  const isOurs = ours.some(({ action }) => action === 'unchanged' || action === 'change');
  if (others.length === 0 || isOurs || others.length === ours.length) return;
  throw new CliError(
    EXIT.conflict,
    'conflict',
    `The set ${name} has schedules (${others[0]?.name}${others.length > 1 ? ', …' : ''}), and none of these files is among them: another folder of that name may keep them.`,
    `Name the set of these files with --name, or say --name ${name} if it is this one.`,
  );
}

function question(gone: readonly Applied[]): string {
  const names = gone.map(({ name }) => name).join(', ');
  return `Delete ${gone.length === 1 ? 'the schedule' : `${gone.length} schedules:`} ${names}?`;
}

async function send(
  client: SpineClient,
  kept: readonly Kept[],
  options: ApplyOptions,
  dryRun: boolean,
): Promise<AppliedSet> {
  const of = (kind: Kind) => kept.filter((each) => each.kind === kind);
  const [schedules, types, pools] = (['schedule', 'type', 'pool'] as const).map(of) as [
    Kept[],
    Kept[],
    Kept[],
  ];
  try {
    return await client.schedules.apply({
      name: options.name ?? setName(options.file),
      schedules: schedules.map(({ fields }) => fields),
      ...(types.length > 0 && { types: types.map(({ fields }) => fields) }),
      ...(pools.length > 0 && { pools: pools.map(({ fields }) => fields) }),
      prune: options.prune ?? false,
      dry_run: dryRun,
    });
  } catch (error) {
    const faults = faultsOf(error, { schedules, types, pools });
    throw faults.length > 0 ? refusal(faults) : error;
  }
}

/** A set is called as its folder or file is. */
function setName(file: string): string {
  const path = resolve(file);
  const name = file === '-' ? 'stdin' : basename(path, extname(path));
  return name.replaceAll(/[^A-Za-z0-9._-]/g, '-').replace(/^[^A-Za-z0-9]+/, '') || 'set';
}

/** `schedules[3].schedule_cron` in the words of the files. */
function faultsOf(
  error: unknown,
  kept: Readonly<Record<'schedules' | 'types' | 'pools', readonly Kept[]>>,
): Fault[] {
  if (!(error instanceof SpineApiError) || error.status !== 400) return [];
  const problems = error.details['problems'] ?? [
    { field: error.details['field'] ?? '', problem: error.message },
  ];
  // The server lists them like this.
  return (problems as { field: string; problem: string }[]).flatMap(({ field, problem }) => {
    const [, list, index, name = null] = /^(schedules|types|pools)\[(\d+)\]\.?(.*)$/.exec(field) ?? [];
    const found = list === undefined ? undefined : kept[list as keyof typeof kept][Number(index)];
    return found === undefined ? [] : [{ ...found.place, field: name, problem: problem.replace(/\.$/, '') }];
  });
}

/** Everything that is wrong, a line each; nothing was changed. */
function refusal(faults: readonly Fault[]): CliError {
  const lines = faults.map(
    ({ file, document, problem }) =>
      `${file}, document ${document}: ${/[.?!]$/.test(problem) ? problem : `${problem}.`}`,
  );
  return new CliError(EXIT.usage, 'bad_request', lines.join('\n'), 'Nothing was changed.', {
    problems: faults,
  });
}

const SIGNS = {
  create: styled('green', '+'),
  change: styled('yellow', '~'),
  unchanged: styled('dim', '='),
  prune: styled('red', '-'),
  extra: styled('dim', '?'),
} as const;

function changeLines({ kind, name, action, changes }: Applied): Line[] {
  const what = kind === 'schedule' ? '' : `${kind} `;
  const words = action === 'extra' ? 'not in the files any more' : action;
  return [
    [SIGNS[action], ` ${what}`, styled('bold', name), ` ${words}`],
    ...changes.map(({ field, from, to }): Line => `    ${field}: ${shown(from)} → ${shown(to)}`),
  ];
}

const SHOWN_CHARS = 60;

function shown(value: unknown): string {
  const text = JSON.stringify(value ?? null);
  return text.length > SHOWN_CHARS ? `${text.slice(0, SHOWN_CHARS)}…` : text;
}

const COUNTED = [
  ['create', 'created'],
  ['change', 'changed'],
  ['unchanged', 'unchanged'],
  ['prune', 'deleted'],
] as const;

function summary({ results, dry_run: isDry, managed_by: mark }: AppliedSet): Line {
  const counts = COUNTED.map(([action, did]) => {
    const count = results.filter((each) => each.action === action).length;
    return count === 0
      ? []
      : [`${count} ${isDry ? `to be ${did}`.replace('to be unchanged', 'unchanged') : did}`];
  }).flat();
  return `${mark}: ${counts.length === 0 ? 'nothing' : counts.join(', ')}`;
}

function hints(session: Session, { results, dry_run: isDry }: AppliedSet): void {
  if (results.some(({ action }) => action === 'extra'))
    session.out.info('What is not in the files any more stays; --prune deletes it.');
  if (isDry) session.out.info('Nothing was changed (dry run).');
}
