import { existsSync } from 'node:fs';
import type { JobType, Scoring } from '../../client/index.ts';
import type { Handler } from '../command.ts';
import type { Session } from '../session.ts';
import { type Line, styled } from '../text/line.ts';
import { table } from '../text/table.ts';
import { duration, relative } from '../text/times.ts';
import { block, fact } from './job-lines.ts';
import { fileText, given, parsed } from './values.ts';

export const listTypes: Handler = async (session) => {
  const types = await (await session.client()).types.list();
  session.out.result({
    value: { types },
    lines: () => typeTable(session, types),
    ids: () => types.map(({ name }) => name),
  });
};

function typeTable(session: Session, types: readonly JobType[]): Line[] {
  if (types.length === 0) {
    session.none('No types. Create one with: npx spine types set digest --sop digest.md');
    return [];
  }
  const columns = [
    { head: 'type' },
    { head: 'label', gives: true },
    { head: 'how to' },
    { head: 'schema' },
    { head: 'changed' },
  ];
  const rows = types.map(({ name, label, sop, paramsSchema, updatedAt }) => [
    name,
    label,
    sop === null ? '-' : 'yes',
    paramsSchema === null ? '-' : 'yes',
    relative(updatedAt, session.now()),
  ]);
  return table(columns, rows, session.out.columns);
}

export const getType: Handler = async (session, { args: [name = ''] }) => {
  const type = await (await session.client()).types.get(name);
  session.out.result({ value: type, lines: () => typeLines(type, session.now()), ids: () => [type.name] });
};

function typeLines(type: JobType, nowMs: number): Line[] {
  return [
    styled('bold', `Type ${type.name}`),
    fact('label', type.label),
    ...(type.maxRetries === null ? [] : [fact('retries', String(type.maxRetries))]),
    ...(type.retry.backoffMs === null ? [] : [fact('backoff', duration(type.retry.backoffMs))]),
    ...(type.scoring === null ? [] : [fact('scoring', scoringText(type.scoring))]),
    ...(type.provider === null ? [] : [fact('provider', type.provider)]),
    fact('changed', `${type.updatedAt} (${relative(type.updatedAt, nowMs)})`),
    ...block('schema', type.paramsSchema ?? undefined),
    ...block('how to', type.sop ?? undefined),
  ];
}

interface SetOptions {
  readonly label?: string;
  readonly sop?: string;
  readonly schema?: string;
  readonly retries?: number;
  readonly backoff?: number;
  readonly scoring?: string;
  readonly provider?: string;
}

export const setType: Handler<SetOptions> = async (session, { args: [name = ''], options }) => {
  const sop = options.sop === undefined ? undefined : await fileText(session, options.sop);
  const paramsSchema = options.schema === undefined ? undefined : await schemaOf(session, options.schema);
  const client = await session.client();
  const { label, retries: maxRetries, backoff, provider } = options;
  const retry = backoff === undefined ? undefined : { backoffMs: backoff };
  const scoring = options.scoring === undefined ? undefined : scoringSaid(options.scoring);
  const said = given({ label, sop, paramsSchema, maxRetries, retry, scoring, provider });
  const type = await client.types.save(name, said);
  session.out.result({ value: type, lines: () => [`Type ${type.name} is saved.`], ids: () => [type.name] });
};

function scoringSaid(text: string): Scoring {
  // The server looks whether it is one, and says what is wrong with it.
  return parsed(text, '--scoring') as Scoring;
}

function scoringText({ points, tags = {}, perHour, max }: Scoring): string {
  const parts = [
    ...(points === undefined ? [] : [`${points} for each`]),
    ...Object.entries(tags).map(([tag, each]) => `${each} with ${tag}`),
    ...(perHour === undefined ? [] : [`${perHour} an hour`]),
    `at most ${max ?? 9}`,
  ];
  return parts.join(', ');
}

/** JSON itself, or a file that holds it. */
async function schemaOf(session: Session, text: string): Promise<unknown> {
  const isFile = text === '-' || (!text.trimStart().startsWith('{') && existsSync(text));
  return parsed(isFile ? await fileText(session, text) : text, '--schema');
}
