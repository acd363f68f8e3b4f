import type { Handler } from '../command.ts';
import type { Session } from '../session.ts';
import { type Line, type Piece, styled } from '../text/line.ts';
import { table } from '../text/table.ts';
import { relative } from '../text/times.ts';
import { confirm } from './confirm.ts';
import { given } from './values.ts';

export interface ShownToken {
  readonly id: string;
  readonly name: string;
  readonly role: string;
  readonly targets: readonly string[] | null;
  readonly grants: readonly string[];
  readonly createdAt: string;
  readonly createdBy: string;
  readonly revokedAt: string | null;
}

export type NewToken = Omit<ShownToken, 'revokedAt'> & { readonly token: string };

interface AddOptions {
  readonly role: string;
  readonly target?: readonly string[];
  readonly grant?: readonly string[];
}

export const addToken: Handler<AddOptions> = async (session, { args: [name = ''], options }) => {
  const made = await makeToken(session, {
    name,
    role: options.role,
    targets: options.target,
    grants: options.grant,
  });
  session.out.result({ value: made, lines: () => [made.token], ids: () => [made.token] });
  session.out.info(`This is the token of ${made.name}, shown this once: use it as SPINE_TOKEN.`);
};

export async function makeToken(
  session: Session,
  token: {
    readonly name: string;
    readonly role: string;
    readonly targets?: readonly string[] | undefined;
    readonly grants?: readonly string[] | undefined;
  },
): Promise<NewToken> {
  const caller = await session.caller();
  return await caller.json({ method: 'POST', path: '/tokens', json: given({ ...token }), repeatable: false });
}

export const listTokens: Handler = async (session) => {
  const caller = await session.caller();
  const { tokens } = await caller.json<{ tokens: ShownToken[] }>({
    method: 'GET',
    path: '/tokens',
    repeatable: true,
  });
  session.out.result({
    value: { tokens },
    lines: () => tokenTable(session, tokens),
    ids: () => tokens.map(({ name }) => name),
  });
};

function tokenTable(session: Session, tokens: readonly ShownToken[]): Line[] {
  if (tokens.length === 0) {
    session.none(
      'No tokens beside those of the settings. Make one with: npx spine token add laptop --role worker',
    );
    return [];
  }
  const columns = [
    { head: 'token' },
    { head: 'role' },
    { head: 'targets', gives: true },
    { head: 'made' },
    { head: 'by' },
    { head: 'state' },
  ];
  const rows = tokens.map((token): Piece[] => [
    token.name,
    token.role,
    token.targets?.join(', ') ?? 'all',
    relative(token.createdAt, session.now()),
    token.createdBy,
    token.revokedAt === null ? styled('green', 'valid') : styled('gray', 'revoked'),
  ]);
  return table(columns, rows, session.out.columns);
}

export const revokeToken: Handler<{ readonly yes?: boolean }> = async (
  session,
  { args: [name = ''], options },
) => {
  await confirm(session, `Revoke the token ${name}?`, options.yes);
  await endToken(session, name);
  session.out.result({
    value: { token: name, revoked: true },
    lines: () => [`The token ${name} is revoked.`],
  });
};

export async function endToken(session: Session, name: string): Promise<void> {
  const caller = await session.caller();
  await caller.json({ method: 'DELETE', path: `/tokens/${encodeURIComponent(name)}`, repeatable: false });
}

export const renewTokens: Handler<{ readonly yes?: boolean }> = async (session, { options }) => {
  await confirm(session, 'End the tokens of head, left-claw and right-claw, and make new ones?', options.yes);
  const file = await session.host.renewTokens(session.flags);
  session.out.result({
    value: { file },
    lines: () => [
      `The new tokens are in ${file}. Every server takes them, and no longer the old ones, within a second.`,
    ],
  });
};
