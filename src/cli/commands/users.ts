import { usage } from '../failure.ts';
import type { Handler } from '../command.ts';
import type { Session } from '../session.ts';
import { type Line, type Piece } from '../text/line.ts';
import { table } from '../text/table.ts';
import { relative } from '../text/times.ts';
import { confirm } from './confirm.ts';
import { given, readStdin } from './values.ts';

interface ShownUser {
  readonly id: string;
  readonly email: string;
  readonly fullName: string;
  readonly name: string;
  readonly admin: boolean;
  readonly worker: boolean;
  readonly lastLoginAt: string | null;
}

interface AddOptions {
  readonly name: string;
  readonly admin?: boolean;
  readonly worker?: boolean;
  readonly timezone?: string;
  readonly passwordStdin?: boolean;
}

export const addUser: Handler<AddOptions> = async (session, { args: [email = ''], options }) => {
  const password = await passwordOf(session, options.passwordStdin);
  const { name: fullName, admin, worker, timezone } = options;
  const caller = await session.caller();
  const user = await caller.json<ShownUser>({
    method: 'POST',
    path: '/users',
    json: given({ email, password, fullName, admin, worker, timezone }),
    repeatable: false,
  });
  told(session, user, `${user.email} can log in. As a worker and author it is ${user.name}.`);
};

export const listUsers: Handler = async (session) => {
  const caller = await session.caller();
  const path = '/users';
  const { users } = await caller.json<{ users: ShownUser[] }>({ method: 'GET', path, repeatable: true });
  session.out.result({
    value: { users },
    lines: () => userTable(session, users),
    ids: () => users.map(({ email }) => email),
  });
};

function userTable(session: Session, users: readonly ShownUser[]): Line[] {
  if (users.length === 0) {
    session.none(
      'No users. Add one with: npx spine users add anna@example.org --name Anna --worker --password-stdin',
    );
    return [];
  }
  const columns = [
    { head: 'user', gives: true },
    { head: 'full name', gives: true },
    { head: 'name' },
    { head: 'rights' },
    { head: 'last login' },
  ];
  const rows = users.map((user): Piece[] => [
    user.email,
    user.fullName,
    user.name,
    [...(user.admin ? ['admin'] : []), ...(user.worker ? ['worker'] : [])].join(', ') || '-',
    user.lastLoginAt === null ? '-' : relative(user.lastLoginAt, session.now()),
  ]);
  return table(columns, rows, session.out.columns);
}

interface SetOptions {
  readonly name?: string;
  readonly admin?: boolean;
  readonly worker?: boolean;
  readonly timezone?: string;
}

export const setUser: Handler<SetOptions> = async (session, { args: [email = ''], options }) => {
  const { name: fullName, admin, worker, timezone } = options;
  const change = given({ fullName, admin, worker, timezone });
  if (Object.keys(change).length === 0)
    throw usage('Say what to change, for example --worker or --no-admin.');
  const user = await patch(session, email, change);
  told(session, user, `${user.email} is changed.`);
};

export const setPassword: Handler<{ readonly passwordStdin?: boolean }> = async (
  session,
  { args: [email = ''], options },
) => {
  const user = await patch(session, email, { password: await passwordOf(session, options.passwordStdin) });
  told(session, user, `${user.email} has a new password, and has to log in again.`);
};

export const removeUser: Handler<{ readonly yes?: boolean }> = async (
  session,
  { args: [email = ''], options },
) => {
  await confirm(session, `Remove the user ${email}?`, options.yes);
  const caller = await session.caller();
  await caller.json({ method: 'DELETE', path: pathOf(email), repeatable: false });
  session.out.result({
    value: { user: email, removed: true },
    lines: () => [`${email} can no longer log in. Its work stays.`],
  });
};

async function patch(session: Session, email: string, json: object): Promise<ShownUser> {
  const caller = await session.caller();
  return caller.json({ method: 'PATCH', path: pathOf(email), json, repeatable: true });
}

function pathOf(email: string): string {
  return `/users/${encodeURIComponent(email)}`;
}

function told(session: Session, user: ShownUser, line: string): void {
  session.out.result({ value: user, lines: () => [line], ids: () => [user.email] });
}

/** A password in the command line could be read by everybody on the machine. */
async function passwordOf(session: Session, fromStdin: boolean | undefined): Promise<string> {
  if (fromStdin !== true) throw usage('Send the password on standard input, and say --password-stdin.');
  const password = (await readStdin(session)).replace(/\r?\n$/, '');
  if (password === '') throw usage('Standard input holds no password.');
  return password;
}
