/** Checks requests against their schemas, and says what is wrong in a sentence that names the field. */

import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv';
import { SpineError } from '../domain/error.ts';

/** `must` finishes the sentence "<field> must be …" where a schema cannot say it by itself. */
const VOCABULARY = ['must'];
const OPTIONS = {
  allErrors: false,
  verbose: true,
  strict: true,
  allowUnionTypes: true,
  removeAdditional: false,
  // A test holds every schema of a route against the meta-schema, which no server has to compile for that.
  validateSchema: false,
  meta: false,
} as const;

const strict = new Ajv({ ...OPTIONS, coerceTypes: false }).addVocabulary(VOCABULARY);
/** Everything in a URL is text, so numbers are read out of it there; unknown names stay errors. */
const reading = new Ajv({ ...OPTIONS, coerceTypes: true }).addVocabulary(VOCABULARY);

export type Part = 'body' | 'querystring' | 'params';

/** Answers what is wrong with `value`, or null. */
export type Check = (value: unknown) => SpineError | null;

/**
 * Compiles the schema when it is first needed: of its hundreds a server needs few, and all of them took a third of the
 * processor time of every start (540 and 350 ms, side by side on a shared 2-core machine).
 */
export function checker(schema: object, part: Part): Check {
  let validate: ValidateFunction | undefined;
  return (value) => {
    validate ??= (part === 'body' ? strict : reading).compile(schema);
    return validate(value) ? null : problemIn(validate.errors ?? [], part);
  };
}

/** A caller may have made up the name. */
const SHOWN_FIELD_CHARS = 300;

function problemIn(errors: readonly ErrorObject[], part: Part): SpineError {
  // With alternatives the last error is the one about all of them.
  const error = errors.at(-1);
  if (!error) return new SpineError('bad_request');
  const { field, sentence } = describe(error, part);
  return new SpineError('bad_request', field === '' ? {} : { field }, { message: `${sentence}.` });
}

function describe(error: ErrorObject, part: Part): { field: string; sentence: string } {
  const at = placeOf(error.instancePath);
  const inside = (name: unknown): string =>
    `${at === '' ? '' : `${at}.`}${String(name)}`.slice(0, SHOWN_FIELD_CHARS);
  if (error.keyword === 'required') {
    const field = inside(error.params['missingProperty']);
    return { field, sentence: `${field} is required` };
  }
  if (error.keyword === 'additionalProperties') {
    const field = inside(error.params['additionalProperty']);
    return {
      field,
      sentence: `${field} is not a ${part === 'querystring' ? 'parameter' : 'field'} of this request`,
    };
  }
  return { field: at, sentence: `${at || 'The body'} must be ${expectation(shownBy(error))}` };
}

/** '/after/0/job' reads as 'after[0].job'. */
function placeOf(pointer: string): string {
  const steps = pointer
    .split('/')
    .slice(1)
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));
  return steps.reduce((place, step) => {
    if (/^\d+$/.test(step)) return `${place}[${step}]`;
    return place === '' ? step : `${place}.${step}`;
  }, '');
}

/** The keywords of ours that the sentence is made of. */
interface Shown {
  readonly must?: string;
  readonly enum?: readonly unknown[];
  readonly type?: string | readonly string[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
}

function shownBy({ parentSchema }: ErrorObject): Shown {
  // Every schema that is checked here is one of a route of ours, with these keywords.
  return (parentSchema ?? {}) as Shown;
}

function expectation(schema: Shown): string {
  if (schema.must) return schema.must;
  if (schema.enum) return `one of ${schema.enum.join(', ')}`;
  const orNull = Array.isArray(schema.type) && schema.type.includes('null') ? ', or null' : '';
  switch (Array.isArray(schema.type) ? schema.type[0] : schema.type) {
    case 'integer':
      return `a whole number from ${schema.minimum} to ${schema.maximum}${orNull}`;
    case 'string':
      return `text of ${schema.minLength ?? 0} to ${schema.maxLength} characters${orNull}`;
    case 'array':
      return `a list of ${schema.minItems ?? 0} to ${schema.maxItems} items`;
    case 'boolean':
      return `true or false`;
    default:
      return `an object`;
  }
}
