/** Commands that work on this machine, without a server or as one. */

import type { Handler } from '../command.ts';
import type { Say, ServeFlags, SettingRow } from '../host.ts';
import type { Session } from '../session.ts';
import { table } from '../text/table.ts';
import { confirm } from './confirm.ts';

export const serve: Handler<ServeFlags> = (session, { options }) => session.host.serve(options);

export const config: Handler<{ readonly server?: boolean }> = async (session, { options }) => {
  const settings = options.server ? await ofServer(session) : session.host.settings(session.flags);
  const columns = [{ head: 'setting' }, { head: 'value', gives: true }, { head: 'from' }];
  session.out.result({
    value: settings,
    lines: () =>
      table(
        columns,
        settings.map(({ name, value, origin }) => [name, value ?? '-', origin]),
        session.out.columns,
      ),
  });
};

async function ofServer(session: Session): Promise<readonly SettingRow[]> {
  const caller = await session.caller();
  const { settings } = await caller.json<{ settings: SettingRow[] }>({
    method: 'GET',
    path: '/config',
    repeatable: true,
  });
  return settings;
}

export const rebuild: Handler<{ readonly yes?: boolean }> = async (session, { options }) => {
  await confirm(session, 'Make the database anew from the files?', options.yes);
  await said(session, (say) => session.host.rebuild(session.flags, say));
};

/** What was printed becomes the messages of the JSON. */
async function said(session: Session, work: (say: Say) => Promise<void>): Promise<void> {
  const messages: string[] = [];
  await work({ print: (line) => messages.push(line), warn: (line) => session.out.warn(line) });
  session.out.result({ value: { ok: true, messages }, lines: () => messages });
}
