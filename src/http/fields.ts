/** What the request schemas of every door are made of. Unknown fields are refused everywhere. */

import type { TProperties } from 'typebox';
import type { Scoring } from '../domain/scoring.ts';
import { LIMITS } from '../domain/limits.ts';
import { Type } from './typebox.ts';

export const optional = Type.Optional;
export const fields = <T extends TProperties>(properties: T) =>
  Type.Object(properties, { additionalProperties: false });
export const whole = (minimum: number, maximum: number) => Type.Integer({ minimum, maximum });
export const textOrNull = (max: number) =>
  Type.Unsafe<string | null>({ type: ['string', 'null'], maxLength: max });
/** How often jobs of a type are tried again unless they say it themselves. */
export const TypeMaxRetries = Type.Unsafe<number | null>({
  type: ['integer', 'null'],
  minimum: 0,
  maximum: LIMITS.maxAttempts,
});
/** What jobs of a type have unless they say it themselves. */
export const TypeRetry = fields({
  backoffMs: optional(
    Type.Unsafe<number | null>({
      type: ['integer', 'null'],
      minimum: 0,
      maximum: LIMITS.backoffMsMax,
      description: 'how long its jobs wait after their first failure, then twice as long each time',
    }),
  ),
});
const points = (about: string) =>
  optional(Type.Number({ minimum: 0, maximum: LIMITS.scorePoints, description: about }));
const wholePoints = (about: string) =>
  optional(Type.Integer({ minimum: 0, maximum: LIMITS.scorePoints, description: about }));
/** What gives jobs of a type points, so that they go before others of the same priority. */
export const TypeScoring = Type.Unsafe<Scoring | null>({
  ...fields({
    points: wholePoints('for every job of the type'),
    tags: optional(
      Type.Unsafe<Record<string, number>>({
        type: 'object',
        maxProperties: LIMITS.tags,
        propertyNames: { minLength: 1, maxLength: LIMITS.nameChars },
        additionalProperties: { type: 'integer', minimum: 0, maximum: LIMITS.scorePoints },
        description: 'for each of these tags that a job has',
      }),
    ),
    perHour: points('for each hour that a job has been ready'),
    max: wholePoints('in all, at most; 9 unless said'),
  }),
  type: ['object', 'null'],
});
/** Whose limits the jobs of a type run into. */
export const TypeProvider = Type.Unsafe<string | null>({
  type: ['string', 'null'],
  minLength: 1,
  maxLength: LIMITS.nameChars,
  pattern: '^[\\w][\\w.:-]*$',
  must: `a name of at most ${LIMITS.nameChars} letters, digits and _ . : -, or null`,
});
export const NoFields = fields({});
