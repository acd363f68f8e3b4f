/** Logging in, staying so, and logging out. These answers have no envelope. */

import type { User } from '../../../domain/user.ts';
import type { LoggedIn } from '../../../engine/engine.ts';
import { route, type Route } from '../../routes.ts';
import { iso } from '../../iso.ts';
import { LoginAnswer, LoginBody, LogoutAnswer, RefreshBody } from './schemas.ts';

export const authRoutes: readonly Route[] = [
  route({
    method: 'POST',
    path: '/api/v1/auth/login',
    name: 'botLogin',
    about: 'Log in with an email address and a password.',
    who: 'anyone',
    body: LoginBody,
    answer: LoginAnswer,
    errors: ['unauthorized', 'rate_limited', 'overloaded'],
    handle: async ({ engine, body: { email, password }, request, parts }) =>
      shown(await engine.logins.logIn(parts.addressOf(request.raw), email, password)),
  }),
  route({
    method: 'POST',
    path: '/api/v1/auth/refresh',
    name: 'botRefresh',
    about: 'Get a new access token with the refresh token of a login.',
    who: 'anyone',
    body: RefreshBody,
    answer: LoginAnswer,
    errors: ['unauthorized'],
    handle: async ({ engine, body }) => shown(await engine.logins.refresh(body.refresh_token)),
  }),
  route({
    method: 'POST',
    path: '/api/v1/auth/logout',
    name: 'botLogout',
    about: 'End a refresh token.',
    who: 'anyone',
    body: RefreshBody,
    answer: LogoutAnswer,
    handle: async ({ engine, body }) => {
      await engine.logins.logOut(body.refresh_token);
      return { message: 'Logged out successfully' };
    },
  }),
];

function shown({ user, accessToken, refreshToken, expiresInMs }: LoggedIn) {
  return {
    access_token: accessToken,
    refresh_token: refreshToken,
    expires_in: Math.floor(expiresInMs / 1_000),
    user: userView(user),
  };
}

function userView(user: User) {
  const { id, email, fullName, timezone, createdAt, admin, worker, lastLoginAt, lastActivityAt } = user;
  return {
    id,
    email,
    full_name: fullName,
    timezone,
    created_at: iso(createdAt),
    // Operators add users: nobody's address is in doubt, and nothing is sold.
    email_verified: true,
    is_premium: false,
    is_admin: admin,
    is_worker: worker,
    last_login_at: lastLoginAt === null ? null : iso(lastLoginAt),
    last_activity_at: lastActivityAt === null ? null : iso(lastActivityAt),
  };
}
