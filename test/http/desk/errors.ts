/** How the desk says no: a sentence, and the ticket's status where there is one. */

import type { State } from '../../../src/domain/job.ts';
import type { ErrorShape } from '../../../src/http/errors.ts';
import { Type } from '../../../src/http/typebox.ts';
import { DESK_STATUSES } from './statuses.ts';

export const deskErrors: ErrorShape = {
  name: 'desk-',
  body: ({ code, message, details }, statusOf) => ({
    success: false,
    error: message,
    code,
    ...('state' in details && { ticket_status: statusOf[details['state'] as State] }),
  }),
  schema: (codes) =>
    Type.Object({
      success: Type.Literal(false),
      error: Type.String(),
      code: Type.Enum([...codes]),
      ticket_status: Type.Optional(Type.Enum([...DESK_STATUSES])),
    }),
};
