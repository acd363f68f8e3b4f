/** The fields of a job's row as this door takes, describes and prints them, all by the table. */

import type { TOptional, TProperties, TSchema, TString, TUnsafe } from 'typebox';
import {
  type Asked,
  CHANGE_FIELDS,
  type ChangeName,
  DRAFT_FIELDS,
  type FieldFilter,
  FILTERED,
  JOB_FIELDS,
  type JobField,
  type JobRowDraft,
  type TimeName,
} from '../../../domain/job-fields.ts';
import { type Job, STATES } from '../../../domain/job.ts';
import { blockedOnOf } from '../../../domain/question.ts';
import { generatedFunction } from '../../../domain/generated-function.ts';
import { SPINE_STATUS_OF } from '../../../domain/statuses.ts';
import { whole } from '../../fields.ts';
import { iso } from '../../iso.ts';
import { Type } from '../../typebox.ts';
import { timeOf } from '../../times.ts';
import { label, list, Name, Time, Traceparent } from './schemas.ts';

/** The order in which v0 shows what it has; everything else follows in the order of the table. */
const V0_ORDER =
  'id no target state createdAt updatedAt createdBy claimedBy leaseUntil attempts maxAttempts'.split(' ');

const SHOWN = JOB_FIELDS.filter(({ shown }) => shown === 'always' || shown === 'set').toSorted(
  (one, other) => placeOf(one) - placeOf(other),
);

function placeOf({ name }: JobField): number {
  const place = V0_ORDER.indexOf(name);
  return place === -1 ? V0_ORDER.length : place;
}

type DraftSchemas = { [K in keyof JobRowDraft]-?: TOptional<TUnsafe<Said<K>>> };
type Said<K extends keyof JobRowDraft> = K extends TimeName ? string | number : NonNullable<JobRowDraft[K]>;

/** What a creator may say of the row. */
export const draftSchemas = Object.fromEntries(
  DRAFT_FIELDS.map((field) => [
    field.name,
    Type.Optional({ ...draftSchema(field), description: field.asked.about }),
  ]),
) as unknown as DraftSchemas;

/** What can be said anew of it. */
export const changeSchemas = Object.fromEntries(
  CHANGE_FIELDS.map(({ name }) => [name, draftSchemas[name]]),
) as unknown as Pick<DraftSchemas, ChangeName>;

function draftSchema({ is, asked }: (typeof DRAFT_FIELDS)[number]): TSchema {
  const { min = 0, max = 0 } = asked;
  if (is === 'texts') return list(textSchema(asked), max);
  if (is === 'flag') return Type.Boolean();
  if (is === 'time') return Time;
  return is === 'whole' ? whole(min, max) : textSchema(asked);
}

function textSchema({ shape, maxChars = 0 }: Asked): TString {
  if (shape === 'traceparent') return Traceparent;
  return shape === 'name' ? Name : label(maxChars);
}

const TIMES = DRAFT_FIELDS.filter(({ is }) => is === 'time').map(({ name }) => name as TimeName);

/** What a creator says of the row, with its times as the engine takes them. */
export function inMs<B extends { readonly [K in TimeName]?: string | number }>(
  body: B,
  prefix = '',
): Omit<B, TimeName> & { readonly [K in TimeName & keyof B]?: number } {
  let draft: object = body;
  for (const name of TIMES) {
    const said = body[name];
    if (said !== undefined) draft = { ...draft, [name]: timeOf(said, `${prefix}${name}`) };
  }
  // Every time in it was just replaced by its milliseconds.
  return draft as never;
}

type FilterSchemas = { [K in keyof FieldFilter]-?: TOptional<TString> };

/** What a list can be asked for. */
export const filterSchemas = Object.fromEntries(
  FILTERED.map(({ name, asked }) => [name, Type.Optional(textSchema(asked))]),
) as FilterSchemas;

/** What is answered of the row. */
export const shownSchemas: TProperties = Object.fromEntries(
  SHOWN.map((field) => {
    const description = field.asked !== undefined && 'about' in field.asked ? field.asked.about : field.about;
    const schema = { ...shownSchema(field), ...(description !== undefined && { description }) };
    if (field.shown === 'set') return [field.name, Type.Optional(schema)];
    return [field.name, field.default === null ? { ...schema, type: ['string', 'null'] } : schema];
  }),
);

function shownSchema({ is, default: usual }: JobField): TSchema {
  switch (is) {
    case 'text':
      return Type.String();
    case 'texts':
      return Type.Array(Type.String());
    case 'json':
      return Type.Unknown();
    case 'whole':
      return Type.Integer();
    case 'time':
      return Type.String({ format: 'date-time' });
    case 'flag':
      return Type.Boolean();
    default:
      // What is shown when it is set is never the default.
      return Type.Enum(is.filter((word) => word !== usual).map(String));
  }
}

const STATE_FIELDS: Readonly<Record<string, string>> = Object.fromEntries(
  STATES.map((state) => [state, `"status":"${SPINE_STATUS_OF[state]}","state":"${state}"`]),
);

/** v0's word for the state, and our own. */
export function stateFields({ state }: Pick<Job, 'state'>): string {
  return STATE_FIELDS[state] ?? '';
}

/** What is always shown stands in one text; each field that most jobs do not have is looked at by itself. */
const always = SHOWN.filter(({ shown }) => shown === 'always').map((field) =>
  field.name === 'state' ? '${stateFields(job)}' : `"${field.name}":${printed(field)}`,
);
const whenSet = SHOWN.filter(({ shown }) => shown === 'set').map(
  (field) => `(${isSet(field)} ? \`,"${field.name}":${printed(field)}\` : '')`,
);

/** The fields of the row, as the inside of a JSON object: first those that every job has. */
export const [alwaysShown, shownWhenSet] = generatedFunction(
  ['{ iso, stateFields, blockedOnOf }'],
  `[(job) => \`${always.join(',')}\`, (job) => ${whenSet.join(' + ')}]`,
)({ iso, stateFields, blockedOnOf } as never) as [Print, Print];
type Print = (job: Job) => string;

/** A job that is due since it was made was not asked to wait. */
function isSet(field: JobField): string {
  if (field.name === 'runAt') return 'job.runAt > job.createdAt';
  return `${valueOf(field)} !== ${JSON.stringify(field.default)}`;
}

/** What waits for an answer is blocked, and on no pool. */
function valueOf({ name }: JobField): string {
  return name === 'blockedOn' ? 'blockedOnOf(job)' : `job.${name}`;
}

/** Part of a template: the value as JSON. */
function printed(field: JobField): string {
  const { is, shown, default: usual } = field;
  const value = valueOf(field);
  const text = textOf(is, value);
  return shown === 'always' && usual === null ? `\${${value} === null ? 'null' : \`${text}\`}` : text;
}

function textOf(is: JobField['is'], value: string): string {
  if (is === 'text') return `\${JSON.stringify(${value})}`;
  if (is === 'time') return `"\${iso(${value})}"`;
  return typeof is === 'string' ? `\${${value}}` : `"\${${value}}"`;
}
