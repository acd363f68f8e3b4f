/** Who calls: users by the token of their login. What they may is read from their row at every call, so that it ends at once. */

import type { Actor } from '../../../domain/command.ts';
import { SpineError } from '../../../domain/error.ts';
import type { User } from '../../../domain/user.ts';
import type { Auth, Callers } from '../../auth.ts';

type IncomingMessage = Parameters<Callers['known']>[0];

export const logins: Auth = {
  name: 'login',
  scheme: {
    type: 'http',
    scheme: 'bearer',
    bearerFormat: 'JWT',
    description: 'From POST /api/v1/auth/login.',
  },
  challenge: 'Bearer',
  codes: ['unauthorized', 'forbidden'],
  open: ({ engine }) => ({
    known: () => null,
    lookUp: async (request) => {
      const token = tokenOf(request);
      const user = token === null ? null : await engine.logins.userBehind(token);
      if (user === null) return null;
      const actor = isForAdmins(request) ? admin(user) : worker(user, engine.bots.actor(user));
      if (actor.role === 'worker') engine.users.heard(actor);
      return actor;
    },
    refusal: (request, actor) => (actor === null ? stranger(request) : notAllowed(request)),
  }),
};

function admin({ name, admin: isAdmin }: User): Actor {
  return isAdmin ? { name, role: 'head', targets: null } : nobody(name);
}

function worker({ name, worker: isWorker }: User, actor: Actor): Actor {
  return isWorker ? actor : nobody(name);
}

/** Somebody who is known, and may call no route of this side. */
function nobody(name: string): Actor {
  return { name, role: 'viewer', targets: [] };
}

function tokenOf({ headers: { authorization = '' } }: IncomingMessage): string | null {
  return /^Bearer +(\S+)$/i.exec(authorization)?.[1] ?? null;
}

function isForAdmins({ url = '' }: IncomingMessage): boolean {
  return /^\/(?:api\/v1\/)?admin\//.test(url);
}

function stranger(request: IncomingMessage): SpineError {
  const problem =
    request.headers.authorization === undefined
      ? 'Authorization header required'
      : tokenOf(request) === null
        ? 'Invalid authorization header format. Use: Bearer <token>'
        : 'Invalid or expired token';
  return new SpineError('unauthorized', { problem });
}

function notAllowed(request: IncomingMessage): SpineError {
  const problem = isForAdmins(request) ? 'Forbidden - admin access required' : 'Not authorized as a worker';
  return new SpineError('forbidden', { problem });
}
