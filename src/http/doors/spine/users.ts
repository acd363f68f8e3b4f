/** Those who log in with an email address and a password, as operators keep them. */

import { SpineError } from '../../../domain/error.ts';
import { LIMITS } from '../../../domain/limits.ts';
import { isZone } from '../../../domain/time-zone.ts';
import type { User } from '../../../domain/user.ts';
import { fields, optional } from '../../fields.ts';
import { iso } from '../../iso.ts';
import { route, type Route } from '../../routes.ts';
import { Type } from '../../typebox.ts';
import { label, text } from './schemas.ts';

const HEAD = ['head'] as const;
/** Shorter ones are guessed within the failures that a login is allowed. */
const PASSWORD_CHARS_MIN = 8;

const password = text(LIMITS.passwordChars, PASSWORD_CHARS_MIN);
const timezone = optional(text(LIMITS.nameChars));
const NewUser = fields({
  email: text(LIMITS.emailChars),
  password,
  fullName: label(LIMITS.nameChars),
  timezone,
  admin: optional(Type.Boolean()),
  worker: optional(Type.Boolean()),
});
const UserChange = fields({
  password: optional(password),
  fullName: optional(label(LIMITS.nameChars)),
  timezone,
  admin: optional(Type.Boolean()),
  worker: optional(Type.Boolean()),
});
const UserParams = Type.Object({ user: label(LIMITS.emailChars) });

const time = Type.String({ format: 'date-time' });
const UserAnswer = Type.Object({
  id: Type.String(),
  email: Type.String(),
  fullName: Type.String(),
  name: Type.String(),
  timezone: Type.String(),
  admin: Type.Boolean(),
  worker: Type.Boolean(),
  createdAt: time,
  lastLoginAt: Type.Unsafe({ type: ['string', 'null'], format: 'date-time' }),
});
const UserList = Type.Object({ users: Type.Array(UserAnswer) });
const UserRemoved = Type.Object({ user: Type.String(), removed: Type.Literal(true) });

export const userRoutes: readonly Route[] = [
  route({
    method: 'GET',
    path: '/users',
    name: 'listUsers',
    about: 'List those who log in with an email address, newest first.',
    who: HEAD,
    answer: UserList,
    handle: async ({ engine }) => ({ users: (await engine.users.list()).map(userView) }),
  }),
  route({
    method: 'POST',
    path: '/users',
    name: 'addUser',
    about: 'Let somebody log in: an admin, a worker, or both. The password is kept as argon2id only.',
    who: HEAD,
    body: NewUser,
    status: 201,
    answer: UserAnswer,
    errors: ['conflict', 'overloaded'],
    handle: async ({ engine, actor, body }) => {
      checkZone(body.timezone);
      return userView(await engine.users.add(actor, body));
    },
  }),
  route({
    method: 'PATCH',
    path: '/users/:user',
    name: 'changeUser',
    about: 'Change a user, by id or email address. A new password ends what it was logged in by.',
    who: HEAD,
    params: UserParams,
    body: UserChange,
    answer: UserAnswer,
    errors: ['not_found', 'overloaded'],
    handle: async ({ engine, actor, body, params: { user = '' } }) => {
      checkZone(body.timezone);
      return userView(await engine.users.change(actor, user, body));
    },
  }),
  route({
    method: 'DELETE',
    path: '/users/:user',
    name: 'removeUser',
    about: 'Remove a user, by id or email address: it can no longer call. Its work stays.',
    who: HEAD,
    params: UserParams,
    answer: UserRemoved,
    errors: ['not_found'],
    handle: async ({ engine, actor, params: { user = '' } }) => {
      await engine.users.remove(actor, user);
      return { user, removed: true };
    },
  }),
];

function checkZone(timezone: string | undefined): void {
  if (timezone === undefined || isZone(timezone)) return;
  const problem = 'timezone must be the name of a time zone, for example Europe/Berlin.';
  throw new SpineError('bad_request', { field: 'timezone', problem });
}

function userView({ id, email, fullName, name, timezone, admin, worker, createdAt, lastLoginAt }: User) {
  return {
    id,
    email,
    fullName,
    name,
    timezone,
    admin,
    worker,
    createdAt: iso(createdAt),
    lastLoginAt: lastLoginAt === null ? null : iso(lastLoginAt),
  };
}
