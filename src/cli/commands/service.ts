/** `spine service …`: the server, started with the machine and started again when it ends. */

import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import type { Handler } from '../command.ts';
import { CliError, EXIT } from '../failure.ts';
import { type Manager, MARK, type Unit, unitFor } from '../service/units.ts';
import type { Session } from '../session.ts';

interface ServiceOptions {
  readonly for?: Manager;
  readonly user?: boolean;
  readonly dryRun?: boolean;
}

export const install: Handler<ServiceOptions> = async (session, { options }) => {
  const unit = unitOf(session, options);
  if (options.dryRun) {
    session.out.result({
      value: { ok: true, dryRun: true, file: unit.file, text: unit.text, next: unit.next },
      lines: () => unit.text.trimEnd().split('\n'),
    });
    session.out.info(`Nothing was written (dry run); it would stand in ${unit.file}`);
    return;
  }
  const before = existing(unit);
  if (before !== unit.text) {
    attempt(unit, () => {
      mkdirSync(dirname(unit.file), { recursive: true });
      writeFileSync(unit.file, unit.text, { mode: 0o644 });
    });
    tell(session, unit.reload);
  }
  session.out.result({
    value: { ok: true, file: unit.file, changed: before !== unit.text, next: unit.next },
    lines: () => [
      before === unit.text ? `${unit.file} is as it should be.` : `${unit.file} is written.`,
      'Next:',
      ...unit.next.map((line) => `  ${line}`),
    ],
  });
};

export const uninstall: Handler<ServiceOptions> = async (session, { options }) => {
  const unit = unitOf(session, options);
  if (existing(unit) === null)
    throw new CliError(EXIT.notFound, 'not_found', `There is no ${unit.file}.`, 'Nothing was done.');
  if (!options.dryRun) {
    tell(session, unit.stop);
    attempt(unit, () => rmSync(unit.file));
    tell(session, unit.reload);
  }
  session.out.result({
    value: { ok: true, dryRun: options.dryRun === true, file: unit.file, removed: options.dryRun !== true },
    lines: () => [
      options.dryRun ? `${unit.file} would be removed.` : `${unit.file} is removed; the data stays.`,
    ],
  });
};

function unitOf(session: Session, options: ServiceOptions): Unit {
  const { platform, home, node, entry, isRoot } = session.host.machine();
  const manager =
    options.for ?? (platform === 'darwin' ? 'launchd' : platform === 'linux' ? 'systemd' : null);
  if (manager === null)
    throw new CliError(
      EXIT.failure,
      'unsupported',
      `This machine (${platform}) has neither systemd nor launchd.`,
      'Use --for pm2, or let your own supervisor run: npx spine serve',
    );
  const { dataDir } = session.host.server(session.flags);
  const isUser = options.user === true || !isRoot;
  return unitFor(manager, { node, entry, dataDir: resolve(dataDir), home, isUser });
}

/** What is there; somebody else's file is not touched. */
function existing(unit: Unit): string | null {
  if (!existsSync(unit.file)) return null;
  const text = attempt(unit, () => readFileSync(unit.file, 'utf8'));
  if (text.includes(MARK)) return text;
  throw new CliError(
    EXIT.conflict,
    'conflict',
    `${unit.file} was not written by spine.`,
    'Move it away first, or print the unit with --dry-run.',
  );
}

function attempt<T>({ file }: Unit, work: () => T): T {
  try {
    return work();
  } catch (error) {
    const { code = 'unknown error' } = error as NodeJS.ErrnoException;
    const hint = code === 'EACCES' ? 'Use --user, or run it as root.' : null;
    throw new CliError(EXIT.failure, 'failure', `${file} cannot be written (${code}).`, hint);
  }
}

/** Where the tool is not there, or cannot reach its manager, the next commands say what is left to do. */
function tell(session: Session, command: readonly string[] | null): void {
  if (command === null) return;
  const [tool = '', ...args] = command;
  const code = session.host.runTool(tool, args);
  if (code !== 0 && code !== null)
    session.out.info(`${command.join(' ')} ended with ${code}; try it yourself.`);
}
