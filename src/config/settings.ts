import {
  choice,
  host,
  httpUrl,
  list,
  manyTokens,
  oneToken,
  path,
  port,
  postgresUrl,
  secretText,
  type Type,
  whole,
} from './types.ts';

/** `default` is text, read like a value from the environment; null means "not set". */
export interface Setting<T = unknown> {
  readonly name: string;
  readonly aliases: readonly string[];
  readonly group: string;
  readonly type: Type<T>;
  readonly default: string | null;
  readonly secret: boolean;
  readonly help: string;
}

const DAY_S = 86_400;
const MIB = 1_048_576;

const plain = { aliases: [], secret: false } as const;
const hidden = { aliases: [], secret: true, default: null } as const;

/** Every setting Spine knows; the keys are the names that `Config` uses. */
export const SETTINGS = {
  host: {
    ...plain,
    name: 'SPINE_HOST',
    group: 'Server',
    type: host,
    default: '127.0.0.1',
    help: 'Address to listen on. Anything but loopback needs strong tokens.',
  },
  port: {
    ...plain,
    name: 'SPINE_PORT',
    group: 'Server',
    type: port,
    default: '36725',
    help: 'Port to listen on; 0 takes any free one.',
  },
  allowedHosts: {
    ...plain,
    name: 'SPINE_ALLOWED_HOSTS',
    group: 'Server',
    type: list(host),
    default: '',
    help: 'Further host names under which clients may call, for example on a LAN.',
  },
  skillMdPath: {
    ...plain,
    name: 'SPINE_SKILL_MD_PATH',
    group: 'Server',
    type: path,
    default: './SKILL.md',
    help: 'The Markdown file served at /skill.md.',
  },
  logLevel: {
    ...plain,
    name: 'SPINE_LOG_LEVEL',
    group: 'Server',
    type: choice('debug', 'info', 'warn', 'error', 'silent'),
    default: 'info',
    help: 'The least important log line still written.',
  },
  drainSeconds: {
    ...plain,
    name: 'SPINE_DRAIN_SECONDS',
    group: 'Server',
    type: whole(0, 10, 'seconds'),
    default: '10',
    help: 'How long a stopping server waits for requests under way.',
  },
  dataDir: {
    ...plain,
    name: 'SPINE_DATA_DIR',
    group: 'Storage',
    type: path,
    default: './data',
    help: 'Folder of the database, the blobs and the job files.',
  },
  databaseUrl: {
    ...hidden,
    name: 'DATABASE_URL',
    aliases: ['SPINE_DATABASE_URL'],
    group: 'Storage',
    type: postgresUrl,
    help: 'The PostgreSQL database to use. Without it Spine uses SQLite in the data folder.',
  },
  pgLanes: {
    ...plain,
    name: 'SPINE_PG_LANES',
    group: 'Storage',
    type: whole(1, 16, 'lanes'),
    default: '2',
    help: 'PostgreSQL connections that write, each committing its own groups of commands.',
  },
  pgPool: {
    ...plain,
    name: 'SPINE_PG_POOL',
    group: 'Storage',
    type: whole(1, 100, 'connections'),
    default: '8',
    help: 'PostgreSQL connections for reads.',
  },
  files: {
    ...plain,
    name: 'SPINE_FILES',
    group: 'Storage',
    type: choice('on', 'off', 'auto'),
    default: 'auto',
    help: 'Whether every job is also written to readable files. auto: on with SQLite, off with PostgreSQL.',
  },
  retentionDays: {
    ...plain,
    name: 'SPINE_RETENTION_DAYS',
    group: 'Storage',
    type: whole(0, 36_500, 'days'),
    default: '30',
    help: 'How long finished jobs are kept; 0 keeps them for ever.',
  },
  headToken: {
    ...hidden,
    name: 'HEAD_TOKEN',
    aliases: ['SPINE_HEAD_TOKEN'],
    group: 'Tokens',
    type: oneToken,
    help: 'The token of the head, who creates jobs and may step in on any of them.',
  },
  headTokens: {
    ...hidden,
    name: 'HEAD_TOKENS',
    aliases: ['SPINE_HEAD_TOKENS'],
    group: 'Tokens',
    type: manyTokens,
    help: 'Several head tokens, all accepted: the old and the new one while you rotate.',
  },
  leftClawToken: {
    ...hidden,
    name: 'LEFT_CLAW_TOKEN',
    aliases: ['SPINE_LEFT_CLAW_TOKEN'],
    group: 'Tokens',
    type: oneToken,
    help: 'The token of the left claw, a worker.',
  },
  leftClawTokens: {
    ...hidden,
    name: 'LEFT_CLAW_TOKENS',
    aliases: ['SPINE_LEFT_CLAW_TOKENS'],
    group: 'Tokens',
    type: manyTokens,
    help: 'Several left claw tokens, all accepted.',
  },
  rightClawToken: {
    ...hidden,
    name: 'RIGHT_CLAW_TOKEN',
    aliases: ['SPINE_RIGHT_CLAW_TOKEN'],
    group: 'Tokens',
    type: oneToken,
    help: 'The token of the right claw, a worker.',
  },
  rightClawTokens: {
    ...hidden,
    name: 'RIGHT_CLAW_TOKENS',
    aliases: ['SPINE_RIGHT_CLAW_TOKENS'],
    group: 'Tokens',
    type: manyTokens,
    help: 'Several right claw tokens, all accepted.',
  },
  leaseSeconds: {
    ...plain,
    name: 'LEASE_SECONDS',
    aliases: ['SPINE_LEASE_SECONDS'],
    group: 'Queue',
    type: whole(1, 7 * DAY_S, 'seconds'),
    default: '300',
    help: 'How long a claim or heartbeat holds a job.',
  },
  leaseMs: {
    ...plain,
    name: 'SPINE_LEASE_MS',
    group: 'Queue',
    type: whole(10, 7 * DAY_S * 1000, 'milliseconds'),
    default: null,
    help: 'The same in milliseconds; when set it wins over LEASE_SECONDS.',
  },
  reaperIntervalMs: {
    ...plain,
    name: 'REAPER_INTERVAL_MS',
    aliases: ['SPINE_REAPER_INTERVAL_MS'],
    group: 'Queue',
    type: whole(10, 3_600_000, 'milliseconds'),
    default: '30000',
    help: 'How often jobs with an expired lease are looked for.',
  },
  defaultMaxAttempts: {
    ...plain,
    name: 'DEFAULT_MAX_ATTEMPTS',
    aliases: ['SPINE_DEFAULT_MAX_ATTEMPTS'],
    group: 'Queue',
    type: whole(1, 1000, 'attempts'),
    default: '5',
    help: 'How many times a job runs at most when it does not say so itself.',
  },
  maxUnfinishedJobs: {
    ...plain,
    name: 'SPINE_MAX_UNFINISHED_JOBS',
    group: 'Limits',
    type: whole(1, 1_000_000_000, 'jobs'),
    default: '5000000',
    help: 'With this many unfinished jobs, new ones are refused with 429.',
  },
  bodyLimitBytes: {
    ...plain,
    name: 'SPINE_BODY_LIMIT_BYTES',
    group: 'Limits',
    type: whole(1024, 256 * MIB, 'bytes'),
    default: String(MIB),
    help: 'The largest request body, uploads aside.',
  },
  blobLimitBytes: {
    ...plain,
    name: 'SPINE_BLOB_LIMIT_BYTES',
    group: 'Limits',
    type: whole(1024, 1_048_576 * MIB, 'bytes'),
    default: String(100 * MIB),
    help: 'The largest uploaded file.',
  },
  webhookUrl: {
    ...plain,
    name: 'SPINE_WEBHOOK_URL',
    group: 'Notifications',
    type: httpUrl,
    default: null,
    help: 'Where job events are posted.',
  },
  webhookSecret: {
    ...hidden,
    name: 'SPINE_WEBHOOK_SECRET',
    group: 'Notifications',
    type: secretText,
    help: 'Signs what is posted, so that the receiver can tell it is genuine.',
  },
  url: {
    ...plain,
    name: 'SPINE_URL',
    aliases: ['SPINE_BASE_URL'],
    group: 'Commands',
    type: httpUrl,
    default: null,
    help: 'The server that commands speak to. Without it they find the one that runs on the data folder.',
  },
  token: {
    ...hidden,
    name: 'SPINE_TOKEN',
    group: 'Commands',
    type: secretText,
    help: 'The token that commands use. Without it they take the one in the data folder.',
  },
} satisfies Record<string, Setting>;

export type SettingKey = keyof typeof SETTINGS;

/** The parsed value of every setting; null only where there is no default. */
export type Values = {
  readonly [K in SettingKey]: (typeof SETTINGS)[K] extends { type: Type<infer T>; default: infer D }
    ? T | (D extends string ? never : null)
    : never;
};
