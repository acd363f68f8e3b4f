/** Logging in and staying so: a short token for calls, and a long one that is good for nothing but the next short one. */

import { hash } from 'node:crypto';
import { SpineError } from '../domain/error.ts';
import { LIMITS } from '../domain/limits.ts';
import { emailKeyOf, type User } from '../domain/user.ts';
import type { Core } from './core.ts';
import type { LoggedIn, Logins, LoginSettings } from './engine.ts';
import { type Claims, claimsOf, signed } from './jwt.ts';
import { LoginLimits } from './login-limits.ts';
import type { Passwords } from './passwords.ts';

/** As the text's own service calls itself. */
const ISSUER = 'investorcenter.ai';
const SECRET = 'jwt_secret';
/** Servers may disagree by so much on what time it is. */
const LEEWAY_S = 5;

export function loginsOf(core: Core, passwords: Passwords, settings: LoginSettings): Logins {
  const limits = new LoginLimits();
  const { users } = core.store.read;
  const secret = async (): Promise<string> =>
    settings.secret ?? (await core.tokens.secret(SECRET, () => newSecret(core)));
  const access = async (user: User): Promise<string> =>
    signed(claims(user, 'access', core.now(), settings.accessMs), await secret());

  const matching = async (key: string, password: string): Promise<User | null> => {
    const user = await users.byEmail(key);
    const known = user?.active === true ? user : null;
    return (await passwords.isRight(password, known?.passwordHash ?? null)) ? known : null;
  };

  /** The living user that a token of ours stands for. */
  const behind = async (token: string, use: Use): Promise<{ user: User; claims: Claims } | null> => {
    const found = claimsOf(token, await secret());
    if (found === null || !counts(found, use, core.now())) return null;
    const user = await core.store.readCallers.users.byId(String(found['user_id']));
    if (user === null || !user.active || found['password_at'] !== user.passwordAt) return null;
    return { user, claims: found };
  };

  return {
    logIn: async (address, email, password): Promise<LoggedIn> => {
      const key = emailKeyOf(email);
      const takeBack = limits.enter(key, address, core.now());
      const known = await matching(key, password).catch((error: unknown) => {
        // Nobody has looked at the password.
        takeBack();
        throw error;
      });
      if (known === null) throw wrong('Invalid email or password');
      takeBack();
      const now = core.now();
      const id = newSecret(core);
      const refreshToken = signed(
        { ...claims(known, 'refresh', now, settings.refreshMs), jti: id },
        await secret(),
      );
      const kept = { id: digest(id), userId: known.id, createdAt: now, expiresAt: now + settings.refreshMs };
      await core.flusher.transact(actorOf(known), async (tx) =>
        tx.users.loggedIn(kept, LIMITS.refreshTokensPerUser),
      );
      return {
        user: { ...known, lastLoginAt: now },
        accessToken: await access(known),
        refreshToken,
        expiresInMs: settings.accessMs,
      };
    },
    refresh: async (token) => {
      const found = await behind(token, 'refresh');
      const owner =
        found === null ? null : await users.byRefreshToken(digest(String(found.claims['jti'])), core.now());
      if (found === null || owner !== found.user.id) throw wrong('Invalid or expired refresh token');
      const { user } = found;
      return {
        user,
        accessToken: await access(user),
        refreshToken: token,
        expiresInMs: settings.accessMs,
      };
    },
    logOut: async (token) => {
      const found = await behind(token, 'refresh');
      if (found === null) return;
      const id = digest(String(found.claims['jti']));
      await core.flusher.transact(actorOf(found.user), async (tx) => tx.users.dropRefreshToken(id));
    },
    userBehind: async (token) => (await behind(token, 'access'))?.user ?? null,
  };
}

type Use = 'access' | 'refresh';

function claims(user: User, use: Use, now: number, lastsMs: number): Claims {
  const iat = Math.floor(now / 1_000);
  return {
    user_id: user.id,
    email: user.email,
    is_admin: user.admin,
    token_type: use,
    // A change of the password ends what was handed out before.
    password_at: user.passwordAt,
    iss: ISSUER,
    sub: user.id,
    iat,
    nbf: iat,
    exp: iat + Math.floor(lastsMs / 1_000),
  };
}

function counts({ token_type, iss, exp, nbf }: Claims, use: Use, now: number): boolean {
  const nowS = now / 1_000;
  return (
    token_type === use &&
    iss === ISSUER &&
    typeof exp === 'number' &&
    exp > nowS &&
    typeof nbf === 'number' &&
    nbf <= nowS + LEEWAY_S
  );
}

function actorOf({ name }: User) {
  return { name, role: 'worker', targets: [] } as const;
}

function wrong(problem: string): SpineError {
  return new SpineError('unauthorized', { problem });
}

function newSecret(core: Core): string {
  return `${core.ids.leaseToken()}${core.ids.leaseToken()}`;
}

function digest(id: string): string {
  return hash('sha256', id, 'hex');
}
