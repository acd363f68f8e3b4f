/** What the request schemas of every door are made of. Unknown fields are refused everywhere. */

import type { TProperties } from 'typebox';
import { Type } from './typebox.ts';

export const optional = Type.Optional;
export const fields = <T extends TProperties>(properties: T) =>
  Type.Object(properties, { additionalProperties: false });
export const whole = (minimum: number, maximum: number) => Type.Integer({ minimum, maximum });
export const textOrNull = (max: number) =>
  Type.Unsafe<string | null>({ type: ['string', 'null'], maxLength: max });
export const NoFields = fields({});
