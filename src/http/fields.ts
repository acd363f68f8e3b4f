/** What the request schemas of every door are made of. Unknown fields are refused everywhere. */

import type { TProperties } from 'typebox';
import { LIMITS } from '../domain/limits.ts';
import { Type } from './typebox.ts';

export const optional = Type.Optional;
export const fields = <T extends TProperties>(properties: T) =>
  Type.Object(properties, { additionalProperties: false });
export const whole = (minimum: number, maximum: number) => Type.Integer({ minimum, maximum });
export const textOrNull = (max: number) =>
  Type.Unsafe<string | null>({ type: ['string', 'null'], maxLength: max });
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
export const NoFields = fields({});
