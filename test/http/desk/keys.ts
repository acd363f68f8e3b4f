/** Who calls at the desk: an `X-Desk-Key` that is its manager's or a clerk's. */

import type { Actor } from '../../../src/domain/command.ts';
import { SpineError } from '../../../src/domain/error.ts';
import type { Auth } from '../../../src/http/auth.ts';

export const CLERK_KEY = 'key-of-the-clerk';
export const MANAGER_KEY = 'key-of-the-manager';

const clerk: Actor = { name: 'clerk', role: 'worker', targets: ['desk'] };
const manager: Actor = { name: 'manager', role: 'head', targets: ['desk'] };

export const deskKeys: Auth = {
  name: 'deskKey',
  scheme: { type: 'apiKey', in: 'header', name: 'X-Desk-Key' },
  challenge: 'DeskKey',
  codes: ['unauthorized', 'forbidden'],
  open: () => ({
    known: ({ headers }) => {
      const key = headers['x-desk-key'];
      return key === CLERK_KEY ? clerk : key === MANAGER_KEY ? manager : null;
    },
    lookUp: async () => null,
    refusal: ({ headers }, actor) => {
      if (actor !== null) return new SpineError('forbidden', {}, { message: `Not for a ${actor.name}.` });
      const message = headers['x-desk-key'] === undefined ? 'Show your key.' : 'Nobody has this key.';
      return new SpineError('unauthorized', {}, { message });
    },
  }),
};
