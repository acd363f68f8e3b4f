/** Named checks, each with what to do about it. */

import type { Handler } from '../command.ts';
import { EXIT } from '../failure.ts';
import type { Session } from '../session.ts';
import { type Line, type Style, styled } from '../text/line.ts';
import { checkDataDir, checkDisk, checkNode, checkSettings, checkTokensFile } from './doctor-local.ts';
import { checkServer } from './doctor-server.ts';
import { SilentExit } from './silent-exit.ts';

export interface Finding {
  readonly check: string;
  readonly status: 'pass' | 'warn' | 'fail';
  readonly message: string;
  readonly hint?: string;
}

export const doctor: Handler = async (session) => {
  const findings = await examine(session);
  const failed = findings.some(({ status }) => status === 'fail');
  session.out.result({
    value: { ok: !failed, checks: findings },
    lines: () => findings.flatMap(findingLines),
    ids: () => findings.filter(({ status }) => status !== 'pass').map(({ check }) => check),
  });
  if (failed) throw new SilentExit(EXIT.failure);
};

async function examine(session: Session): Promise<Finding[]> {
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
  ];
}

const STYLES: Readonly<Record<Finding['status'], Style>> = { pass: 'green', warn: 'yellow', fail: 'red' };

function findingLines({ check, status, message, hint }: Finding): Line[] {
  const line: Line = [styled(STYLES[status], status), `  ${check.padEnd(12)} ${message}`];
  return hint === undefined ? [line] : [line, `${' '.repeat(19)}${hint}`];
}
