import { SETTINGS, type Setting, type SettingKey, type Values } from './config/settings.ts';
import { type Env, findStated, findUnknownNames, showStated, type Stated } from './config/stated.ts';

export { SETTINGS, type Setting } from './config/settings.ts';

export type Role = 'head' | 'left_claw' | 'right_claw';
export type TokensByRole = Readonly<Record<Role, readonly string[]>>;

type TokenKey =
  | 'headToken'
  | 'headTokens'
  | 'leftClawToken'
  | 'leftClawTokens'
  | 'rightClawToken'
  | 'rightClawTokens';

/** The settings as the rest of Spine uses them: one lease, tokens by role, files on or off. */
export type Config = Omit<Values, TokenKey | 'leaseSeconds' | 'leaseMs' | 'files' | 'debug'> & {
  readonly leaseMs: number;
  readonly files: boolean;
  readonly tokens: TokensByRole;
  readonly stated: Readonly<Record<SettingKey, Stated>>;
};

/** Command line options that win over the environment, under their keys in the table. */
export type Flags = Readonly<Partial<Record<'host' | 'port' | 'dataDir', string | undefined>>>;

/** Everything that keeps Spine from starting, said at once. */
export class ConfigError extends Error {
  /** EX_CONFIG of sysexits: a supervisor need not try again. */
  readonly exitCode = 78;
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(problems.join('\n'));
    this.name = 'ConfigError';
    this.problems = problems;
  }
}

/** The one place that reads the process environment. */
export const fromProcess = (flags: Flags = {}): Config => loadConfig(process.env, flags);

export function loadConfig(env: Env, flags: Flags = {}): Config {
  const problems = findUnknownNames(env, Object.values(SETTINGS));
  const stated: Record<string, Stated> = {};
  const parsed: Record<string, unknown> = {};
  for (const [key, setting] of Object.entries<Setting>(SETTINGS)) {
    const flag = flags[key as keyof Flags];
    const said =
      flag === undefined ? findStated(setting, env, problems) : { text: flag, origin: flagName(key) };
    stated[key] = said;
    parsed[key] = parse(setting, said, problems);
  }
  // The loop filled both records from the very table that their types are derived from.
  const values = parsed as Values;
  const tokens = tokensByRole(values);
  problems.push(...sharedTokens(tokens));
  problems.push(...backupProblems(values));
  if (values.sessionRunner === 'command' && values.sessionCommand === null)
    problems.push('SPINE_SESSION_RUNNER is command: say which with SPINE_SESSION_COMMAND');
  if (problems.length > 0) throw new ConfigError(problems);
  return toConfig(values, tokens, stated);
}

const flagName = (key: string): string =>
  `--${key.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;

function parse(setting: Setting, said: Stated, problems: string[]): unknown {
  if (said.text === null) return null;
  const result = setting.type.parse(said.text);
  if (result.ok) return result.value;
  problems.push(`${showStated(said, setting.secret)} ${result.problem}`);
  return null;
}

function tokensByRole(values: Values): TokensByRole {
  const merge = (...lists: (readonly string[] | null)[]) => [...new Set(lists.flatMap((list) => list ?? []))];
  return {
    head: merge(values.headToken, values.headTokens),
    left_claw: merge(values.leftClawToken, values.leftClawTokens),
    right_claw: merge(values.rightClawToken, values.rightClawTokens),
  };
}

/** A token is all that tells the roles apart, so one in two roles would have no answer to "who". */
function sharedTokens(tokens: TokensByRole): string[] {
  const pairs = [
    ['head', 'left_claw'],
    ['head', 'right_claw'],
    ['left_claw', 'right_claw'],
  ] as const;
  return pairs
    .filter(([one, other]) => tokens[one].some((token) => tokens[other].includes(token)))
    .map(([one, other]) => `${one} and ${other} have the same token: every role needs its own`);
}

/** Backups that are on and go nowhere would be noticed on the day they are needed. */
function backupProblems({ backupEnabled, backupDir, backupBucket }: Values): string[] {
  if (!backupEnabled || backupDir !== null || backupBucket !== null) return [];
  return [
    'SCHEDULER_BACKUP_ENABLED is true: say where to with SCHEDULER_BACKUP_DIR or SCHEDULER_BACKUP_BUCKET',
  ];
}

function toConfig(values: Values, tokens: TokensByRole, stated: Record<SettingKey, Stated>): Config {
  const { leaseMs, leaseSeconds, files, databaseUrl, debug, logLevel } = values;
  return {
    ...values,
    logLevel: debug === null ? logLevel : 'debug',
    leaseMs: leaseMs ?? leaseSeconds * 1000,
    files: files === 'auto' ? databaseUrl === null : files === 'on',
    tokens,
    stated,
  };
}

export interface DescribedSetting {
  readonly name: string;
  readonly value: string | null;
  readonly origin: string;
}

/** What every setting is and who said so, fit for printing: secrets are masked. */
export function describe(config: Config): DescribedSetting[] {
  return Object.entries<Setting>(SETTINGS).map(([key, { name, secret }]) => {
    const { text, origin } = config.stated[key as SettingKey];
    return { name, value: secret && text ? '********' : text || null, origin };
  });
}
