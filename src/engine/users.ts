/** Who logs in: added, changed and removed by operators. */

import type { Actor } from '../domain/command.ts';
import { SpineError } from '../domain/error.ts';
import { LIMITS } from '../domain/limits.ts';
import {
  emailKeyOf,
  freshName,
  isEmail,
  type User,
  type UserChange,
  type UserDraft,
} from '../domain/user.ts';
import type { Tx } from '../store/store.ts';
import { keepAgents } from './agents.ts';
import { audit } from './audit.ts';
import type { ChangeSet } from './change-set.ts';
import type { Core } from './core.ts';
import type { Users } from './engine.ts';
import type { Passwords } from './passwords.ts';
import { UserNames } from './user-names.ts';

export function usersOf(core: Core, passwords: Passwords): Users {
  const userNames = new UserNames(core);
  const kept = (password: string): Promise<string> => passwords.kept(password, core.ids.leaseToken());
  const find = async (which: string): Promise<User | null> => {
    const { users } = core.store.read;
    return which.includes('@') ? users.byEmail(emailKeyOf(which)) : users.byId(which);
  };
  const get = async (which: string): Promise<User> => {
    const user = await find(which);
    if (user === null || !user.active) throw new SpineError('not_found', { user: which });
    return user;
  };
  const everybody = async (): Promise<User[]> =>
    (await core.store.read.users.all()).map((user) => core.presence.userUpToDate(user));
  return {
    list: async () => (await everybody()).filter(({ active }) => active),
    everybody,
    get: async (which) => core.presence.userUpToDate(await get(which)),
    heard: (actor) => core.presence.hearHolder(actor, core.now()),
    called: (names) => userNames.of(names),
    add: async (actor, draft) => {
      if (!isEmail(draft.email)) throw noEmail();
      const passwordHash = await kept(draft.password);
      const id = core.ids.jobId(core.now());
      return core.flusher.transact(actor, async (tx, changeSet) => {
        await tx.users.lockNames();
        const user = await newUser(tx, draft, { id, passwordHash, now: changeSet.now });
        await welcome(tx, changeSet, actor, 'user.add', user);
        return user;
      });
    },
    change: async (actor, which, { password, ...change }) => {
      const passwordHash = password === undefined ? null : await kept(password);
      const { id } = await get(which);
      return core.flusher.transact(actor, async (tx, changeSet) => {
        await tx.users.lockNames();
        const before = await tx.users.byId(id);
        if (before === null || !before.active) throw new SpineError('not_found', { user: which });
        const user = { ...before, ...said(change), ...fresh(passwordHash, before, changeSet.now) };
        await tx.users.change(user);
        if (passwordHash !== null) await tx.users.dropRefreshTokensOf(id);
        await welcome(tx, changeSet, actor, 'user.change', user);
        return user;
      });
    },
    remove: async (actor, which) => {
      const { id } = await get(which);
      await core.flusher.transact(actor, async (tx, changeSet) => {
        await tx.users.lockNames();
        const user = await tx.users.byId(id);
        if (user === null || !user.active) throw new SpineError('not_found', { user: which });
        await tx.users.change({ ...user, admin: false, worker: false, active: false });
        await tx.users.dropRefreshTokensOf(id);
        await audit(tx, changeSet, actor, 'user.remove', user.email);
      });
    },
  };
}

/** Whoever was removed comes back under the same id and name, with what is said of it now. */
async function newUser(
  tx: Tx,
  draft: UserDraft,
  { id, passwordHash, now }: { readonly id: string; readonly passwordHash: string; readonly now: number },
): Promise<User> {
  const emailKey = emailKeyOf(draft.email);
  const known = await tx.users.byEmail(emailKey);
  if (known?.active) throw emailTaken(draft.email);
  const { email, fullName, timezone = 'UTC', admin = false, worker = false } = draft;
  const rights = { fullName, timezone, passwordHash, passwordAt: now, admin, worker, active: true };
  if (known !== null) {
    const back = { ...known, ...rights, passwordAt: later(known, now) };
    await tx.users.change(back);
    return back;
  }
  if ((await tx.users.count()) >= LIMITS.users) throw tooMany();
  const name = freshName(fullName, email, new Set(await tx.users.takenNames()));
  const user = {
    id,
    email,
    emailKey,
    name,
    createdAt: now,
    lastLoginAt: null,
    lastActivityAt: null,
    ...rights,
  };
  await tx.users.add(user);
  return user;
}

async function welcome(
  tx: Tx,
  changeSet: ChangeSet,
  actor: Actor,
  action: string,
  { email, name, admin, worker }: User,
): Promise<void> {
  // A worker is an agent, and hears what is said to all from now on.
  if (worker) await keepAgents(tx, [[name, null]], changeSet.now);
  await audit(tx, changeSet, actor, action, email, { name, admin, worker });
}

function said(change: Omit<UserChange, 'password'>): Partial<User> {
  return Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined));
}

function fresh(passwordHash: string | null, before: User, now: number): Partial<User> {
  return passwordHash === null ? {} : { passwordHash, passwordAt: later(before, now) };
}

/** Two passwords within a millisecond are two passwords. */
function later({ passwordAt }: User, now: number): number {
  return Math.max(now, passwordAt + 1);
}

function noEmail(): SpineError {
  const problem = 'email must be an address like anna@example.org.';
  return new SpineError('bad_request', { field: 'email', problem });
}

function emailTaken(email: string): SpineError {
  const problem = `There is a user with the address ${email} already; use another, or change that one.`;
  return new SpineError('conflict', { field: 'email', problem });
}

function tooMany(): SpineError {
  return new SpineError('conflict', {
    problem: `There are ${LIMITS.users} users already, removed ones included.`,
    limit: LIMITS.users,
  });
}
