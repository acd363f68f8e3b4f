/** `spine alias …`: names for places. */

import type { Alias } from '../../client/index.ts';
import type { Handler } from '../command.ts';
import { table } from '../text/table.ts';
import { confirm } from './confirm.ts';
import { given } from './values.ts';

export const listAliases: Handler = async (session) => {
  const aliases = await (await session.client()).aliases.list();
  session.out.result({
    value: { aliases },
    lines: () => {
      if (aliases.length > 0) return table(HEADS, aliases.map(cells), session.out.columns);
      session.out.info(
        `No aliases. Create one with: ${session.words.program} alias add ops telegram <chat-id>`,
      );
      return [];
    },
    ids: () => aliases.map(({ alias }) => alias),
  });
};

const HEADS = [
  { head: 'alias' },
  { head: 'channel' },
  { head: 'target', gives: true },
  { head: 'description', gives: true },
];

function cells({ alias, channel, target, description }: Alias): string[] {
  return [`@${alias}`, channel, target === '' ? '-' : target, description ?? '-'];
}

export const addAlias: Handler = async (
  session,
  { args: [alias = '', channel = '', target, description] },
) => {
  const saved = await (await session.client()).aliases.save({
    alias,
    channel,
    ...given({ target, description }),
  });
  session.out.result({
    value: saved,
    lines: () => [
      `@${saved.alias} is ${[saved.channel, saved.target].filter((each) => each !== '').join(' ')}.`,
    ],
    ids: () => [saved.alias],
  });
};

export const removeAlias: Handler<{ readonly yes?: boolean }> = async (
  session,
  { args: [written = ''], options },
) => {
  const alias = written.replace(/^@/, '');
  await confirm(session, `Remove the alias @${alias}?`, options.yes);
  await (await session.client()).aliases.remove(alias);
  session.out.result({ value: { alias, removed: true }, lines: () => [`@${alias} is removed.`] });
};
