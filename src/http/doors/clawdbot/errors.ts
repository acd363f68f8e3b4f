/** Refusals at this door: in one envelope with its answers, with the words of its text. */

import { Type } from '../../typebox.ts';
import type { ErrorShape } from '../../errors.ts';
import { withIsoTimes } from '../../times.ts';

export const envelopedErrors: ErrorShape = {
  name: 'Enveloped',
  body: ({ code, message, details }) => ({
    success: false,
    error: message,
    code,
    ...withIsoTimes(details),
  }),
  schema: (codes) =>
    Type.Object(
      { success: Type.Literal(false), error: Type.String(), code: Type.Enum([...codes]) },
      { additionalProperties: true },
    ),
};
