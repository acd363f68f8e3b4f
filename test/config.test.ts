import assert from 'node:assert/strict';
import { describe as suite, test } from 'node:test';
import { ConfigError, describe, type Flags, loadConfig, SETTINGS, type Setting } from '../src/config.ts';

type Env = Record<string, string | undefined>;

function problemsOf(env: Env, flags?: Flags): readonly string[] {
  try {
    loadConfig(env, flags);
  } catch (error) {
    assert.ok(error instanceof ConfigError);
    return error.problems;
  }
  return [];
}

test('refuses a secret for logins that is shorter than 32 characters [TQ-13]', () => {
  assert.deepEqual(problemsOf({ JWT_SECRET: 'x'.repeat(31) }), [
    'JWT_SECRET must have at least 32 characters (openssl rand -base64 48)',
  ]);
  assert.deepEqual(problemsOf({ JWT_SECRET: ` ${'x'.repeat(31)} ` }).length, 1);
  assert.equal(loadConfig({ JWT_SECRET: 'x'.repeat(32) }).jwtSecret, 'x'.repeat(32));
  assert.equal(loadConfig({}).jwtSecret, null);
});

suite('defaults', () => {
  test('listens on 127.0.0.1:36725 [SP-01 SP-02]', () => {
    const { host, port } = loadConfig({});
    assert.deepEqual({ host, port }, { host: '127.0.0.1', port: 36725 });
  });

  test('keeps its data in ./data and serves ./SKILL.md', () => {
    const { dataDir, skillMdPath } = loadConfig({});
    assert.deepEqual({ dataDir, skillMdPath }, { dataDir: './data', skillMdPath: './SKILL.md' });
  });

  test('leases for 300 s, reaps every 30 s and allows five attempts [SP-34]', () => {
    const { leaseMs, reaperIntervalMs, defaultMaxAttempts } = loadConfig({});
    assert.deepEqual([leaseMs, reaperIntervalMs, defaultMaxAttempts], [300_000, 30_000, 5]);
  });

  test('look at the clock every 10 s, at sessions every 30 s, and call 90 s of silence stale [SC-02 SC-10]', () => {
    const { tickMs, heartbeatCheckMs, staleThresholdS, maxChainDepth, shell } = loadConfig({});
    assert.deepEqual(
      [tickMs, heartbeatCheckMs, staleThresholdS, maxChainDepth, shell],
      [10_000, 30_000, 90, 10, 'off'],
    );
    const said = loadConfig({
      SCHEDULER_TICK_MS: '2000',
      SCHEDULER_STALE_THRESHOLD_S: '30',
      MAX_CHAIN_DEPTH: '4',
    });
    assert.deepEqual([said.tickMs, said.staleThresholdS, said.maxChainDepth], [2_000, 30, 4]);
  });

  test('expect a gateway at 127.0.0.1:18789, without a token [SC-89]', () => {
    const { gatewayUrl, gatewayToken, gateways } = loadConfig({});
    assert.deepEqual([gatewayUrl, gatewayToken, gateways], ['http://127.0.0.1:18789', null, null]);
    assert.equal(loadConfig({ OPENCLAW_GATEWAY_TOKEN: 'abc' }).gatewayToken, 'abc');
  });

  test('are SQLite with job files, thirty days of history and the documented limits', () => {
    const config = loadConfig({});
    assert.equal(config.databaseUrl, null);
    assert.equal(config.files, true);
    assert.equal(config.retentionDays, 30);
    assert.equal(config.bodyLimitBytes, 1_048_576);
    assert.equal(config.blobLimitBytes, 104_857_600);
    assert.equal(config.maxUnfinishedJobs, 5_000_000);
    assert.deepEqual([config.pgLanes, config.pgPool, config.drainSeconds], [3, 8, 10]);
    assert.deepEqual([config.webhookUrl, config.webhookSecret, config.logLevel], [null, null, 'info']);
    assert.deepEqual(config.allowedHosts, []);
    assert.deepEqual(config.tokens, { head: [], left_claw: [], right_claw: [] });
  });
});

suite('the environment', () => {
  test('sets host, port and paths [SP-02]', () => {
    const config = loadConfig({
      SPINE_HOST: '0.0.0.0',
      SPINE_PORT: '0',
      SPINE_DATA_DIR: '/var/lib/spine',
      SPINE_SKILL_MD_PATH: '/etc/skill.md',
    });
    assert.deepEqual(
      [config.host, config.port, config.dataDir, config.skillMdPath],
      ['0.0.0.0', 0, '/var/lib/spine', '/etc/skill.md'],
    );
  });

  test('counts an empty value of a plain setting as unset', () => {
    assert.equal(loadConfig({ SPINE_PORT: '', LEASE_SECONDS: ' ' }).port, 36725);
  });

  test('gives a value under any alias', () => {
    for (const setting of Object.values<Setting>(SETTINGS)) {
      for (const alias of setting.aliases) {
        assert.match(problemsOf({ [alias]: '~a b,~' }).join('\n'), new RegExp(`^${alias}[ =]`, 'm'), alias);
      }
    }
    assert.equal(loadConfig({ SPINE_LEASE_SECONDS: '7' }).leaseMs, 7000);
  });

  test('may say the same under two names, but nothing different', () => {
    assert.equal(loadConfig({ LEASE_SECONDS: '7', SPINE_LEASE_SECONDS: '7' }).leaseMs, 7000);
    assert.deepEqual(problemsOf({ LEASE_SECONDS: '7', SPINE_LEASE_SECONDS: '8' }), [
      'LEASE_SECONDS and SPINE_LEASE_SECONDS are set to different values: keep one of them',
    ]);
  });

  test('sets lease, reaper interval and attempts [SP-34]', () => {
    const config = loadConfig({ LEASE_SECONDS: '2', REAPER_INTERVAL_MS: '50', DEFAULT_MAX_ATTEMPTS: '1000' });
    assert.deepEqual([config.leaseMs, config.reaperIntervalMs, config.defaultMaxAttempts], [2000, 50, 1000]);
  });

  test('gives the lease in milliseconds, which wins over seconds', () => {
    assert.equal(loadConfig({ SPINE_LEASE_MS: '250', LEASE_SECONDS: '9' }).leaseMs, 250);
  });

  test('names the origins of pages, and nothing else that looks like one', () => {
    const { allowedOrigins } = loadConfig({
      SPINE_ALLOWED_ORIGINS: 'https://Board.example, http://localhost:5173',
    });
    assert.deepEqual(allowedOrigins, ['https://board.example', 'http://localhost:5173']);
    for (const wrong of [
      '*',
      'null',
      'board.example',
      'https://a.example/',
      'https://u@a.example',
      'ftp://a',
    ])
      assert.throws(
        () => loadConfig({ SPINE_ALLOWED_ORIGINS: wrong }),
        /SPINE_ALLOWED_ORIGINS.*is not the origin of a page/,
        wrong,
      );
  });

  test('names further hosts, in lower case', () => {
    assert.deepEqual(loadConfig({ SPINE_ALLOWED_HOSTS: 'Spine.LAN, ,10.0.0.7,::2' }).allowedHosts, [
      'spine.lan',
      '10.0.0.7',
      '::2',
    ]);
  });

  for (const url of ['postgres://u:p@db:5432/spine', 'postgresql:///spine?host=/run/postgresql']) {
    test(`chooses PostgreSQL by ${url}, where job files are off unless asked for`, () => {
      assert.equal(loadConfig({ DATABASE_URL: url }).databaseUrl, url);
      assert.equal(loadConfig({ DATABASE_URL: url }).files, false);
      assert.equal(loadConfig({ DATABASE_URL: url, SPINE_FILES: 'on' }).files, true);
    });
  }

  test('switches job files off', () => {
    assert.equal(loadConfig({ SPINE_FILES: 'off' }).files, false);
  });
});

suite('tokens', () => {
  test('are read per role from the single settings [SP-08 SP-09 SP-10]', () => {
    const env = { HEAD_TOKEN: 'h', LEFT_CLAW_TOKEN: 'l', RIGHT_CLAW_TOKEN: 'r' };
    assert.deepEqual(loadConfig(env).tokens, { head: ['h'], left_claw: ['l'], right_claw: ['r'] });
  });

  test('accepts old and new head tokens together from one list [SP-11]', () => {
    assert.deepEqual(loadConfig({ HEAD_TOKENS: 'old, new' }).tokens.head, ['old', 'new']);
  });

  test('of both spellings add up, each once [SP-11]', () => {
    const env = { LEFT_CLAW_TOKEN: 'a', LEFT_CLAW_TOKENS: 'a,b', RIGHT_CLAW_TOKENS: 'c,d' };
    assert.deepEqual(loadConfig(env).tokens, { head: [], left_claw: ['a', 'b'], right_claw: ['c', 'd'] });
  });

  test('are not made of empty list items [SP-11]', () => {
    const env = { HEAD_TOKENS: ',, ,', LEFT_CLAW_TOKEN: '', RIGHT_CLAW_TOKENS: '' };
    assert.deepEqual(loadConfig(env).tokens, { head: [], left_claw: [], right_claw: [] });
  });

  test('must differ between roles', () => {
    const env = { HEAD_TOKENS: 'a,x', LEFT_CLAW_TOKENS: 'x,y', RIGHT_CLAW_TOKEN: 'y' };
    assert.deepEqual(problemsOf(env), [
      'head and left_claw have the same token: every role needs its own',
      'left_claw and right_claw have the same token: every role needs its own',
    ]);
  });
});

suite('refuses', () => {
  const refused: readonly (readonly [name: string, value: string, problem: string])[] = [
    ['LEASE_SECONDS', 'abc', 'LEASE_SECONDS=abc is not a whole number of seconds'],
    ['LEASE_SECONDS', '1.5', 'LEASE_SECONDS=1.5 is not a whole number of seconds'],
    ['LEASE_SECONDS', '-1', 'LEASE_SECONDS=-1 is not a whole number of seconds'],
    ['LEASE_SECONDS', '1e3', 'LEASE_SECONDS=1e3 is not a whole number of seconds'],
    ['LEASE_SECONDS', '0x10', 'LEASE_SECONDS=0x10 is not a whole number of seconds'],
    ['LEASE_SECONDS', '5m', 'LEASE_SECONDS=5m is not a whole number of seconds'],
    ['LEASE_SECONDS', '٣', 'LEASE_SECONDS="٣" is not a whole number of seconds'],
    ['LEASE_SECONDS', '0', 'LEASE_SECONDS=0 is out of range: 1 to 604800 seconds'],
    [
      'LEASE_SECONDS',
      '9'.repeat(400),
      `LEASE_SECONDS=${'9'.repeat(57)}... is out of range: 1 to 604800 seconds`,
    ],
    ['SPINE_PORT', '65536', 'SPINE_PORT=65536 is out of range: 0 to 65535'],
    ['SPINE_PORT', 'http', 'SPINE_PORT=http is not a whole number'],
    [
      'SPINE_PORT',
      'tcp://10.0.0.1:36725',
      'SPINE_PORT=tcp://10.0.0.1:36725 comes from a Kubernetes service link: set enableServiceLinks: false',
    ],
    ['SPINE_LEASE_MS', '9', 'SPINE_LEASE_MS=9 is out of range: 10 to 604800000 milliseconds'],
    ['REAPER_INTERVAL_MS', '0', 'REAPER_INTERVAL_MS=0 is out of range: 10 to 3600000 milliseconds'],
    ['DEFAULT_MAX_ATTEMPTS', '0', 'DEFAULT_MAX_ATTEMPTS=0 is out of range: 1 to 1000 attempts'],
    ['DEFAULT_MAX_ATTEMPTS', '1001', 'DEFAULT_MAX_ATTEMPTS=1001 is out of range: 1 to 1000 attempts'],
    ['SPINE_DRAIN_SECONDS', '601', 'SPINE_DRAIN_SECONDS=601 is out of range: 0 to 600 seconds'],
    ['SPINE_PG_LANES', '17', 'SPINE_PG_LANES=17 is out of range: 1 to 16 lanes'],
    ['SPINE_PG_POOL', '0', 'SPINE_PG_POOL=0 is out of range: 1 to 100 connections'],
    ['SPINE_RETENTION_DAYS', '36501', 'SPINE_RETENTION_DAYS=36501 is out of range: 0 to 36500 days'],
    ['SPINE_MAX_UNFINISHED_JOBS', '0', 'SPINE_MAX_UNFINISHED_JOBS=0 is out of range: 1 to 1000000000 jobs'],
    ['SPINE_BODY_LIMIT_BYTES', '1MB', 'SPINE_BODY_LIMIT_BYTES=1MB is not a whole number of bytes'],
    ['SPINE_BLOB_LIMIT_BYTES', '1', 'SPINE_BLOB_LIMIT_BYTES=1 is out of range: 1024 to 1099511627776 bytes'],
    ['SPINE_FILES', 'true', 'SPINE_FILES=true is not one of on, off, auto'],
    ['SPINE_LOG_LEVEL', 'INFO', 'SPINE_LOG_LEVEL=INFO is not one of debug, info, warn, error, silent'],
    ...['[::1]', '127.0.0.1:80', '1.2.3', '999.1.1.1', 'http://x', '-x', 'a..b', 'a'.repeat(254)].map(
      (host) =>
        [
          'SPINE_HOST',
          host,
          `SPINE_HOST=${host.length > 60 ? `${host.slice(0, 57)}...` : host} is not a host name or IP address (without port or brackets)`,
        ] as const,
    ),
    [
      'SPINE_ALLOWED_HOSTS',
      'good,bad:80',
      'SPINE_ALLOWED_HOSTS=good,bad:80 holds an item that is not a host name or IP address (without port or brackets)',
    ],
    [
      'SPINE_DATA_DIR',
      '~/data',
      'SPINE_DATA_DIR=~/data starts with ~, which only a shell expands: write the whole path',
    ],
    [
      'SPINE_WEBHOOK_URL',
      'hooks.example',
      'SPINE_WEBHOOK_URL=hooks.example is not an http:// or https:// URL',
    ],
    ['SPINE_WEBHOOK_URL', 'file:///etc', 'SPINE_WEBHOOK_URL=file:///etc is not an http:// or https:// URL'],
    [
      'SPINE_WEBHOOK_URL',
      'https://me:hunter2@hooks.example/x',
      'SPINE_WEBHOOK_URL=https://***@hooks.example/x must not carry a user name or password',
    ],
    ['SPINE_WEBHOOK_SECRET', '', 'SPINE_WEBHOOK_SECRET is set but empty'],
    ['DATABASE_URL', '', 'DATABASE_URL is set but empty: unset it to use SQLite'],
    ['DATABASE_URL', 'mysql://u:hunter2@db/x', 'DATABASE_URL is not a postgres:// or postgresql:// URL'],
    ['DATABASE_URL', 'postgres://u:hunter 2@db/x', 'DATABASE_URL is not a postgres:// or postgresql:// URL'],
    ['DATABASE_URL', 'postgres://u@db:port/x', 'DATABASE_URL is not a postgres:// or postgresql:// URL'],
    ['HEAD_TOKEN', 'one,two', 'HEAD_TOKEN holds a comma: several tokens go into the setting with an S'],
    ['HEAD_TOKEN', 'hunter 2', 'HEAD_TOKEN holds spaces or characters outside ASCII'],
    ['HEAD_TOKENS', 'ok,hünter2', 'HEAD_TOKENS holds an item that holds spaces or characters outside ASCII'],
    [
      'LEFT_CLAW_TOKENS',
      'x'.repeat(513),
      'LEFT_CLAW_TOKENS holds an item that is longer than 512 characters',
    ],
  ];
  for (const [name, value, problem] of refused) {
    test(`${name}=${value.slice(0, 40)}`, () => {
      assert.deepEqual(problemsOf({ [name]: value }), [problem]);
    });
  }

  test('an unknown SPINE_ name, and says which was meant', () => {
    assert.deepEqual(problemsOf({ SPINE_PROT: '1' }), [
      'SPINE_PROT is not a setting; did you mean SPINE_PORT?',
    ]);
    assert.deepEqual(problemsOf({ SPINE_LEASE_SECOND: '1' }), [
      'SPINE_LEASE_SECOND is not a setting; did you mean SPINE_LEASE_SECONDS?',
    ]);
    assert.deepEqual(problemsOf({ SPINE_QUUX_ZEBRA: '1' }), ['SPINE_QUUX_ZEBRA is not a setting']);
  });

  test('an unknown SCHEDULER_ name, and backups that would go nowhere [SC-71 SC-91]', () => {
    assert.deepEqual(problemsOf({ SCHEDULER_TICKMS: '1' }), [
      'SCHEDULER_TICKMS is not a setting; did you mean SCHEDULER_TICK_MS?',
    ]);
    assert.deepEqual(problemsOf({ SCHEDULER_BACKUP_RETENTION: '1' }), [
      'SCHEDULER_BACKUP_RETENTION is not a setting; did you mean SCHEDULER_BACKUP_RETENTION_H?',
    ]);
    assert.deepEqual(problemsOf({ SCHEDULER_BACKUP_ENABLED: 'true' }), [
      'SCHEDULER_BACKUP_ENABLED is true: say where to with SCHEDULER_BACKUP_DIR or SCHEDULER_BACKUP_BUCKET',
    ]);
    assert.deepEqual(
      problemsOf({
        SCHEDULER_BACKUP_ENABLED: 'maybe',
        SCHEDULER_BACKUP_MS: '999',
        SCHEDULER_BACKUP_BUCKET: 'x',
        SCHEDULER_BACKUP_PREFIX: '../up',
      }),
      [
        'SCHEDULER_BACKUP_ENABLED=maybe is not true or false',
        'SCHEDULER_BACKUP_MS=999 is out of range: 1000 to 86400000 milliseconds',
        'SCHEDULER_BACKUP_BUCKET=x is not the name of a bucket: 3 to 63 letters, digits, dots and hyphens',
        'SCHEDULER_BACKUP_PREFIX=../up is not a prefix: use letters, digits, . - and _, with / between',
      ],
    );
  });

  test('nothing about backups as the text sets them, whose defaults are off, 5 minutes, 24 hours and 7 days [SC-71 SC-72 SC-73 SC-74 SC-91]', () => {
    const shown = (env: Record<string, string>): unknown[] => {
      const { backupEnabled, backupMs, backupBucket, backupPrefix, backupMcAlias } = loadConfig(env);
      const { backupRetentionH, backupRollupDays, backupDir } = loadConfig(env);
      return [
        backupEnabled,
        backupMs,
        backupBucket,
        backupPrefix,
        backupMcAlias,
        backupRetentionH,
        backupRollupDays,
        backupDir,
      ];
    };
    assert.deepEqual(shown({}), [false, 300_000, null, 'scheduler', null, 24, 7, null]);
    const env = {
      SCHEDULER_BACKUP_ENABLED: 'true',
      SCHEDULER_BACKUP_MS: '2000',
      SCHEDULER_BACKUP_BUCKET: 'my-bucket',
      SCHEDULER_BACKUP_PREFIX: 'prod/spine',
      SCHEDULER_BACKUP_MC_ALIAS: 'minio',
      SCHEDULER_BACKUP_RETENTION_H: '48',
      SCHEDULER_BACKUP_ROLLUP_DAYS: '30',
      SCHEDULER_BACKUP_DIR: '/backups',
    };
    assert.deepEqual(shown(env), [true, 2_000, 'my-bucket', 'prod/spine', 'minio', 48, 30, '/backups']);
    const secrets = { AWS_ACCESS_KEY_ID: 'key', AWS_SECRET_ACCESS_KEY: 'secret', AWS_SESSION_TOKEN: 'token' };
    for (const { name, value } of describe(loadConfig(secrets)))
      if (Object.hasOwn(secrets, name)) assert.equal(value, '********', name);
  });

  test('nothing about what a shell job finds in its environment', () => {
    assert.deepEqual(
      loadConfig({ SPINE_RUN_ID: 'x', SPINE_TRIGGER_OUTPUT: 'y', SPINE_IDEMPOTENCY_KEY: 'z' }).shell,
      'off',
    );
  });

  test('gateways that cannot be meant', () => {
    const problem = (value: unknown): string => problemsOf({ SPINE_GATEWAYS: JSON.stringify(value) }).join();
    assert.equal(
      loadConfig({ SPINE_GATEWAYS: '{"ops":{"url":"http://127.0.0.1:1"}}' }).gateways?.[0]?.name,
      'ops',
    );
    assert.match(problem({ main: { url: 'http://127.0.0.1:1' } }), /names main/);
    assert.match(problem({ 'Ops!': { url: 'http://127.0.0.1:1' } }), /called "Ops!"/);
    assert.match(problem({ ops: { url: 'ftp://x' } }), /is not an http/);
    assert.match(problem({ ops: { url: 'http://x', tokn: 'y' } }), /"tokn"/);
    assert.match(problemsOf({ SPINE_GATEWAYS: 'ops' }).join(), /is not JSON/);
  });

  test('everything wrong at once, with exit code 78', () => {
    const env = { SPINE_PROT: '1', SPINE_PORT: 'x', LEASE_SECONDS: '0', PATH: '/bin' };
    assert.throws(
      () => loadConfig(env),
      (error: ConfigError) =>
        error.problems.length === 3 && error.exitCode === 78 && error.message === error.problems.join('\n'),
    );
  });

  test('control characters only in quotes', () => {
    assert.deepEqual(problemsOf({ SPINE_FILES: 'on\u001b[2J' }), [
      'SPINE_FILES="on\\u001b[2J" is not one of on, off, auto',
    ]);
  });
});

suite('flags', () => {
  test('win over the environment', () => {
    const config = loadConfig(
      { SPINE_PORT: '1', SPINE_HOST: 'bad host' },
      { port: '2', host: '::1', dataDir: 'd' },
    );
    assert.deepEqual([config.port, config.host, config.dataDir], [2, '::1', 'd']);
  });

  test('that are empty or wrong are refused under their own name', () => {
    assert.deepEqual(problemsOf({}, { port: 'x', host: '', dataDir: '' }), [
      '--host="" is not a host name or IP address (without port or brackets)',
      '--port=x is not a whole number',
      '--data-dir="" is empty',
    ]);
  });
});

suite('describe', () => {
  test('names every setting once with its value and origin', () => {
    const rows = describe(loadConfig({ SPINE_LEASE_SECONDS: '60' }, { dataDir: '/d' }));
    assert.deepEqual(
      rows.map(({ name }) => name).toSorted(),
      Object.values(SETTINGS)
        .map(({ name }) => name)
        .toSorted(),
    );
    const row = (wanted: string) => rows.find(({ name }) => name === wanted);
    assert.deepEqual(row('SPINE_PORT'), { name: 'SPINE_PORT', value: '36725', origin: 'default' });
    assert.deepEqual(row('LEASE_SECONDS'), {
      name: 'LEASE_SECONDS',
      value: '60',
      origin: 'SPINE_LEASE_SECONDS',
    });
    assert.deepEqual(row('SPINE_DATA_DIR'), { name: 'SPINE_DATA_DIR', value: '/d', origin: '--data-dir' });
    assert.deepEqual(row('HEAD_TOKEN'), { name: 'HEAD_TOKEN', value: null, origin: 'default' });
  });

  test('masks every secret', () => {
    const env = {
      DATABASE_URL: 'postgres://u:hunter2@db/spine',
      HEAD_TOKEN: 'hunter2a',
      HEAD_TOKENS: 'hunter2b',
      LEFT_CLAW_TOKEN: 'hunter2c',
      LEFT_CLAW_TOKENS: 'hunter2d',
      RIGHT_CLAW_TOKEN: 'hunter2e',
      RIGHT_CLAW_TOKENS: 'hunter2f',
      SPINE_WEBHOOK_SECRET: 'hunter2',
    };
    const rows = describe(loadConfig(env));
    assert.doesNotMatch(JSON.stringify(rows), /hunter2/);
    assert.equal(rows.filter(({ value }) => value === '********').length, Object.keys(env).length);
  });
});
