/** What the desk takes and answers. */

import { fields, optional, whole } from '../../../src/http/fields.ts';
import { Type } from '../../../src/http/typebox.ts';
import { DESK_STATUSES } from './statuses.ts';

const status = Type.Enum([...DESK_STATUSES]);

export const NewTicket = fields({ subject: Type.String({ minLength: 1, maxLength: 80 }) });
export const TicketsQuery = fields({ status: optional(status), limit: optional(whole(1, 100)) });
export const Ticket = Type.Object({ number: Type.Integer(), subject: Type.String(), status });
export const OneTicket = Type.Object({ success: Type.Literal(true), data: Ticket });
export const Tickets = Type.Object({ success: Type.Literal(true), data: Type.Array(Ticket) });

export const TakeHeaders = Type.Object({
  'X-Desk-Counter': Type.Optional(Type.String({ description: 'where it is taken' })),
});
