/** Named checks, each with what to do about it. */

import type { Handler } from '../command.ts';
import { EXIT } from '../failure.ts';
import type { Finding } from '../host.ts';
import type { Session } from '../session.ts';
import { type Line, type Style, styled } from '../text/line.ts';
import { checkDataDir, checkDisk, checkNode, checkSettings, checkTokensFile } from './doctor-local.ts';
import { checkServer } from './doctor-server.ts';
import { SilentExit } from './silent-exit.ts';

export const doctor: Handler<{ readonly deep?: boolean }> = async (session, { options }) => {
  const findings = await examine(session, options.deep === true);
  const failed = findings.some(({ status }) => status === 'fail');
  session.out.result({
    value: { ok: !failed, checks: findings },
    lines: () => findings.flatMap(findingLines),
    ids: () => findings.filter(({ status }) => status !== 'pass').map(({ check }) => check),
  });
  if (failed) throw new SilentExit(EXIT.failure);
};

async function examine(session: Session, deep: boolean): Promise<Finding[]> {
  const settings = checkSettings(session);
  const early = [checkNode(), settings];
  // Where to look is one of the settings.
  if (settings.status === 'fail') return early;
  const { dataDir } = session.host.server(session.flags);
  return [
    ...early,
    checkDataDir(dataDir),
    checkTokensFile(dataDir),
    await checkDisk(dataDir),
    ...(await checkServer(session)),
    ...(deep ? await session.host.deepCheck(session.flags) : []),
  ];
}

const STYLES: Readonly<Record<Finding['status'], Style>> = { pass: 'green', warn: 'yellow', fail: 'red' };

function findingLines({ check, status, message, hint }: Finding): Line[] {
  const line: Line = [styled(STYLES[status], status), `  ${check.padEnd(12)} ${message}`];
  return hint === undefined ? [line] : [line, `${' '.repeat(19)}${hint}`];
}
