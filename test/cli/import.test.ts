import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, test } from 'node:test';
import { Cron } from 'croner';
import type { Alias, Schedule } from '../../src/client/index.ts';
import { readCrontab } from '../../src/cli/import/crontab.ts';
import { readSource } from '../../src/cli/import/source.ts';
import { startServer, type TestServer } from '../support/server.ts';
import { envOf, spine } from './support.ts';
import { golden, normal } from './transcript.ts';

let server: TestServer;
let folder = '';
before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'spine-'));
  server = await startServer({ env: { SPINE_SHELL: 'on' } });
});
after(async () => {
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
});

const run = (...args: string[]) => spine(args, { env: envOf(server) });

async function schedules(): Promise<Schedule[]> {
  const { stdout } = await run('schedules', 'list', '--json');
  return (JSON.parse(stdout) as { schedules: Schedule[] }).schedules;
}

interface Column {
  readonly name: string;
  readonly type: string;
}

/** Of the jobs of that scheduler, at its ninth schema and with what later ones added for times, commands and boundaries. */
const COLUMNS: readonly Column[] = [
  ...'name schedule_cron schedule_tz session_target agent_id payload_kind payload_message payload_model payload_thinking overlap_policy delivery_mode delivery_channel delivery_to created_at updated_at parent_id trigger_on trigger_condition payload_scope resource_pool delivery_guarantee job_class approval_auto context_retrieval preferred_session_key next_run_at last_run_at last_status schedule_kind schedule_at execution_intent auth_profile job_type origin'
    .split(' ')
    .map((name) => ({ name, type: 'TEXT' })),
  ...'execution_read_only ttl_hours enabled payload_timeout_seconds run_timeout_ms delete_after_run trigger_delay_s max_retries queued_count approval_required approval_timeout_s context_retrieval_limit consecutive_errors'
    .split(' ')
    .map((name) => ({ name, type: 'INTEGER' })),
];

const USUAL = {
  enabled: 1,
  schedule_tz: 'America/New_York',
  session_target: 'isolated',
  agent_id: 'main',
  payload_kind: 'agentTurn',
  payload_message: 'Look after it',
  payload_timeout_seconds: 120,
  overlap_policy: 'skip',
  run_timeout_ms: 300_000,
  delivery_mode: 'announce',
  delete_after_run: 0,
  trigger_delay_s: 0,
  max_retries: 0,
  queued_count: 0,
  payload_scope: 'own',
  delivery_guarantee: 'at-most-once',
  job_class: 'standard',
  approval_required: 0,
  approval_timeout_s: 3_600,
  approval_auto: 'reject',
  context_retrieval: 'none',
  context_retrieval_limit: 5,
  consecutive_errors: 0,
  created_at: '2026-01-01 00:00:00',
  updated_at: '2026-01-01 00:00:00',
};
const NEVER = '0 0 31 2 *';
const ZONES = ['America/New_York', 'Europe/Stockholm', 'Asia/Kolkata', 'UTC', 'Australia/Lord_Howe'];
const RULES = ['0 2 * * *', '*/15 9-17 * * 1-5', '30 6 1 * *', '0 */4 * * *', '15 3 * * sun', '0 0 29 2 *'];

type Job = Readonly<Record<string, string | number | null>>;

/** As that program writes a time. */
const stamp = (ms: number) => new Date(ms).toISOString().slice(0, 19).replace('T', ' ');

/** Fifty jobs: every zone with every rule, chains, single moments, commands, gates. */
function fiftyJobs(): Job[] {
  const jobs: Job[] = ZONES.flatMap((tz, z) =>
    RULES.map((rule, r) => ({ ...USUAL, name: `rule ${z}.${r}`, schedule_cron: rule, schedule_tz: tz })),
  );
  const soon = stamp(Date.now() + 90 * 60_000);
  const root = 'id-1';
  jobs.push(
    {
      ...USUAL,
      name: 'main event',
      schedule_cron: '@hourly',
      session_target: 'main',
      payload_kind: 'systemEvent',
      context_retrieval: 'recent',
      context_retrieval_limit: 3,
    },
    { ...USUAL, name: 'main turn', schedule_cron: '5 * * * *', session_target: 'main' },
    {
      ...USUAL,
      name: 'command',
      schedule_cron: '1 1 * * *',
      session_target: 'shell',
      payload_kind: 'shellCommand',
      payload_message: 'true',
      run_timeout_ms: 1_000,
    },
    {
      ...USUAL,
      name: 'command by kind',
      schedule_cron: '2 1 * * *',
      payload_kind: 'shellCommand',
      payload_message: 'true',
    },
    { ...USUAL, name: 'once', schedule_cron: '3 1 * * *', delete_after_run: 1 },
    {
      ...USUAL,
      name: 'moment',
      schedule_cron: NEVER,
      schedule_kind: 'at',
      schedule_at: soon,
      delete_after_run: 1,
    },
    { ...USUAL, name: 'off', schedule_cron: '4 1 * * *', enabled: 0 },
    {
      ...USUAL,
      name: 'pool',
      // An operator put it off until then.
      next_run_at: '2099-03-04 05:06:07',
      schedule_cron: '5 1 * * *',
      resource_pool: 'gpu',
      overlap_policy: 'queue',
    },
    {
      ...USUAL,
      name: 'again',
      schedule_cron: '6 1 * * *',
      max_retries: 3,
      delivery_guarantee: 'at-least-once',
      delivery_channel: 'slack',
      delivery_to: 'ops-channel',
    },
    { ...USUAL, name: 'flush', schedule_cron: '7 1 * * *', job_class: 'pre_compaction_flush' },
    {
      ...USUAL,
      name: 'global',
      schedule_cron: '8 1 * * *',
      payload_scope: 'global',
      overlap_policy: 'allow',
    },
    { ...USUAL, name: 'told', schedule_cron: '9 1 * * *', delivery_channel: 'telegram', delivery_to: '@ops' },
    {
      ...USUAL,
      name: 'deep',
      schedule_cron: '10 1 * * *',
      payload_model: 'm',
      payload_thinking: 'high',
      preferred_session_key: 'agent:main:x',
      context_retrieval: 'hybrid',
      context_retrieval_limit: 10,
    },
    { ...USUAL, name: 'child ok', schedule_cron: NEVER, parent_id: root, trigger_on: 'success' },
    {
      ...USUAL,
      name: 'child bad',
      schedule_cron: NEVER,
      parent_id: root,
      trigger_on: 'failure',
      trigger_delay_s: 60,
    },
    {
      ...USUAL,
      name: 'child end',
      schedule_cron: NEVER,
      parent_id: root,
      trigger_on: 'complete',
      trigger_condition: 'contains:ALERT',
    },
    {
      ...USUAL,
      name: 'gate',
      schedule_cron: NEVER,
      parent_id: root,
      trigger_on: 'success',
      approval_required: 1,
      approval_timeout_s: 60,
    },
    { ...USUAL, name: 'deeper', schedule_cron: NEVER, parent_id: 'id-44', trigger_on: 'success' },
    {
      ...USUAL,
      name: 'later',
      schedule_cron: '11 1 1 1 *',
      agent_id: 'ops',
      execution_intent: 'plan',
      execution_read_only: 1,
      auth_profile: 'inherit',
      ttl_hours: 4,
    },
    {
      ...USUAL,
      name: 'last',
      schedule_cron: '* * * * *',
      consecutive_errors: 5,
      next_run_at: stamp(Date.now() + 3_581_000),
    },
  );
  return jobs;
}

/** What that program shows as the next run. */
function nextOf(job: Job): string | null {
  if (job['enabled'] === 0 || (job['parent_id'] ?? null) !== null) return null;
  const moment = job['schedule_kind'] === 'at' ? job['schedule_at'] : job['next_run_at'];
  if (typeof moment === 'string') return `${moment.replace(' ', 'T')}.000Z`;
  const cron = new Cron(String(job['schedule_cron']), { timezone: String(job['schedule_tz']), paused: true });
  return cron.nextRun()?.toISOString() ?? null;
}

function schedulerDatabase(file: string, jobs: readonly Job[]): void {
  const database = new DatabaseSync(file);
  database.exec(`pragma journal_mode = wal;
    create table jobs (id text primary key, ${COLUMNS.map(({ name, type }) => `${name} ${type}`).join(', ')});
    create table runs (id text primary key, job_id text not null);
    create table delivery_aliases (alias text primary key, channel text not null, target text not null,
      description text, created_at text);
    insert into delivery_aliases (alias, channel, target, description) values
      ('ops-channel', 'telegram', '-100123', 'Ops'), ('admin', 'discord', 'dm:7', null), ('a b', 'log', '', null);`);
  for (const [index, job] of jobs.entries()) {
    const row = {
      id: `id-${index + 1}`,
      ...job,
      next_run_at: nextOf(job)?.slice(0, 19).replace('T', ' ') ?? null,
    };
    const [names, values] = [Object.keys(row), Object.values(row)];
    database
      .prepare(`insert into jobs (${names.join(', ')}) values (${names.map(() => '?').join(', ')})`)
      .run(...values);
  }
  database.close();
}

const sumOf = (file: string) => createHash('sha256').update(readFileSync(file)).digest('hex');

test("fifty jobs of a scheduler's database are here with the same next runs, and a second import makes none [SC-76 SC-77 SC-78]", async () => {
  const file = join(folder, 'scheduler.db');
  const jobs = fiftyJobs();
  assert.equal(jobs.length, 50);
  schedulerDatabase(file, jobs);
  const [sum, around] = [sumOf(file), readdirSync(folder)];
  const dry = await run('import', file, '--dry-run');
  assert.match(dry.stdout, /^a scheduler's database: 53 to be imported$/m);
  assert.deepEqual(await schedules(), []);
  const { code, stdout } = await run('import', file);
  assert.equal(code, 1, stdout);
  assert.match(stdout, /^a scheduler's database: 52 imported, 1 left out$/m);
  assert.match(stdout, /^! @a b is left out: alias must be a name/m);
  const aliases = JSON.parse((await run('alias', 'list', '--json')).stdout) as { aliases: Alias[] };
  assert.deepEqual(
    aliases.aliases.map(({ alias, channel, target, description }) => [alias, channel, target, description]),
    [
      ['admin', 'discord', 'dm:7', null],
      ['ops-channel', 'telegram', '-100123', 'Ops'],
    ],
  );
  assert.match(stdout, /the alias @ops, which does not exist/, 'where it was to deliver is named');
  const here = new Map((await schedules()).map((schedule) => [schedule.name, schedule]));
  assert.equal(here.size, 50);
  for (const job of jobs) {
    const schedule = here.get(String(job['name']));
    assert.equal(schedule?.next_run_at, nextOf(job), String(job['name']));
    assert.equal(schedule?.enabled, job['enabled'] === 1);
  }
  assert.equal(here.get('deeper')?.parent_id, here.get('child ok')?.id);
  assert.equal(here.get('command by kind')?.session_target, 'shell');
  assert.equal(here.get('child end')?.rule, 'After “rule 0.0” ends, when its output contains ALERT');
  const { context_retrieval, context_retrieval_limit } = here.get('deep') ?? {};
  assert.deepEqual([context_retrieval, context_retrieval_limit], ['hybrid', 10]);
  assert.match(stdout, /its context_retrieval stays behind/, 'an event in the main session has no reply');
  assert.equal(here.get('main event')?.context_retrieval, 'none');
  const { delivery_channel, delivery_to } = here.get('again') ?? {};
  assert.deepEqual(
    [delivery_channel, delivery_to],
    [null, '@ops-channel'],
    'the alias goes before the channel',
  );
  assert.match(stdout, /its auth_profile stays behind/);
  assert.match(stdout, /its ttl_hours stays behind/);
  assert.match(stdout, /announce delivers every reply here, and there those of failed runs only/);
  assert.match(here.get('later')?.payload_message ?? '', /^Only plan: .*\nOnly read: .*\nLook after it$/);
  await run('alias', 'add', 'admin', 'log', '');
  const again = await run('import', file);
  assert.match(again.stdout, /^a scheduler's database: 52 here already, 1 left out$/m);
  assert.match(again.stdout, /^= @admin is here already\n {4}note: it led to discord:dm:7$/m);
  assert.equal((await schedules()).length, 50);
  assert.deepEqual([sumOf(file), readdirSync(folder)], [sum, around]);
});

test('jobs that are in the log of a database that is open come along too, and the database stays as it is', async () => {
  const file = join(folder, 'open.db');
  schedulerDatabase(file, []);
  const database = new DatabaseSync(file);
  database.exec(
    `insert into jobs (id, name, schedule_cron, payload_message, enabled, next_run_at)
      values ('x', 'in the log', '0 1 * * *', 'go', 1, '2026-01-01 01:00:00')`,
  );
  const sums = [sumOf(file), sumOf(`${file}-wal`)];
  const { stdout } = await run('import', file);
  assert.match(stdout, /^\+ in the log Every day at 01:00 UTC/m);
  assert.match(stdout, /note: it was due at 2026-01-01T01:00:00Z and had not run$/m);
  assert.deepEqual([sumOf(file), sumOf(`${file}-wal`)], sums);
  database.close();
});

test('what of a database does not come along is said, and a job that would be another one stays out', async () => {
  const file = join(folder, 'more.db');
  schedulerDatabase(file, []);
  const database = new DatabaseSync(file);
  database.exec(`alter table jobs add column tint text default 'blue';
    alter table jobs add column watch integer default 7;
    create table messages (id text, status text);
    insert into messages values ('m1', 'pending'), ('m2', 'delivered');
    create table agents (id text);
    insert into agents values ('main'), ('ops');
    create table approvals (id text, status text);`);
  const add = database.prepare(
    `insert into jobs (id, name, schedule_cron, payload_message, agent_id, resource_pool, watch)
      values (?, ?, '0 1 * * *', 'go', ?, ?, ?)`,
  );
  add.run('p', 'lower', 'Ops', null, 8);
  add.run('q', 'in no pool', 'ops', ' \n', 7);
  add.run('r', 'no agent', 'some body', null, 7);
  database.close();
  const { code, stdout } = await run('import', file);
  assert.equal(code, 1);
  assert.match(stdout, /^\+ lower Every day [^\n]+\n {4}note: it says more, which stays behind: watch$/m);
  assert.match(stdout, /^! in no pool is left out: resource_pool /m);
  assert.match(stdout, /^! no agent is left out: agent_id /m);
  assert.match(stdout, /\n {4}note: not brought along: 1 messages that wait, 2 agents\n$/);
  const lower = (await schedules()).find(({ name }) => name === 'lower');
  assert.equal(lower?.agent_id, 'ops');
});

test('no more jobs of a database are in memory than one, whatever it holds', async () => {
  const file = join(folder, 'many.db');
  schedulerDatabase(file, []);
  const database = new DatabaseSync(file);
  const many = (from: number, to: number) =>
    database.exec(`with recursive n (i) as (values (${from}) union all select i + 1 from n where i < ${to})
      insert into jobs (id, name, schedule_cron, payload_message, parent_id, trigger_on)
      select 'n' || i, 'job ' || i, '0 1 * * *', 'x', case i when 1 then null else 'n' || (i - 1) end, 'success' from n`);
  many(1, 12_000);
  database.exec('update jobs set payload_message = hex(zeroblob(10000))');
  const source = await readSource(file, Date.now());
  const before = process.memoryUsage().arrayBuffers + process.memoryUsage().heapUsed;
  let [seen, most] = [0, 0];
  for (const { key } of source.schedules) {
    assert.equal(key, `n${(seen += 1)}`, 'parents come first');
    if (seen % 1_000 === 0)
      most = Math.max(most, process.memoryUsage().arrayBuffers + process.memoryUsage().heapUsed);
  }
  assert.equal(seen, 12_000);
  assert.ok(most - before < 120 * 1_048_576, `${(most - before) / 1_048_576} MiB more than before`);
  many(12_001, 100_001);
  database.close();
  const { code, stderr } = await run('import', file);
  assert.equal(code, 2);
  assert.match(stderr, /holds more than 100000 jobs, which no server keeps/);
});

const OPENCLAW = {
  version: 1,
  jobs: [
    {
      id: 'a1',
      name: 'Morning',
      enabled: true,
      schedule: { kind: 'cron', expr: '0 7 * * *', tz: 'Europe/Stockholm' },
      sessionTarget: 'isolated',
      agentId: 'Ops',
      payload: { kind: 'agentTurn', message: 'Say hello', model: 'm', thinking: 'low', timeoutSeconds: 60 },
      delivery: { mode: 'announce', channel: 'telegram', to: '123' },
    },
    {
      id: 'a2',
      name: 'Poll',
      enabled: false,
      createdAtMs: 1_700_000_000_000,
      schedule: { kind: 'every', everyMs: 600_000 },
      sessionTarget: 'main',
      payload: { kind: 'systemEvent', text: 'Look' },
    },
    {
      id: 'a3',
      name: 'Remind',
      schedule: { kind: 'at', at: '2099-01-01T09:00:00' },
      deleteAfterRun: true,
      sessionTarget: 'main',
      payload: { kind: 'systemEvent', text: 'Call' },
    },
    {
      id: 'a4',
      name: 'Long ago',
      schedule: { kind: 'at', at: '2020-01-01T09:00:00Z' },
      payload: { kind: 'agentTurn', message: 'x' },
    },
    {
      id: 'a5',
      name: 'Hooked',
      schedule: { kind: 'cron', expr: '0 7 * * *', tz: 'UTC' },
      sessionTarget: 'session:abc',
      payload: { kind: 'agentTurn', message: 'x' },
      delivery: { mode: 'webhook', to: 'https://example.org' },
    },
    {
      id: 'a7',
      name: 'Told last',
      wakeMode: 'next-heartbeat',
      state: { nextRunAtMs: 1 },
      schedule: { kind: 'cron', expr: '0 7 * * *', tz: 'UTC', staggerMs: 0 },
      sessionTarget: 'current',
      payload: { kind: 'agentTurn', message: 'x', fallbacks: ['m2'], lightContext: false },
      delivery: { mode: 'announce', channel: 'last', bestEffort: true },
    },
    { id: 'a6', name: 'Strange', schedule: { kind: 'moon' }, payload: { kind: 'agentTurn', message: 'x' } },
  ],
};

const CRONTAB = `# m h dom mon dow command
SHELL=/bin/sh
MAILTO=ann@example.org
PATH="/usr/bin:/bin"

# Nightly backup
15 3 * * * /usr/bin/backup --name "$(date +\\%F)"
CRON_TZ=Europe/Stockholm
@daily mail -s hi bob%Dear Bob,%see you
@reboot start-all
61 * * * * never
`;

test('what an import prints reads as in its golden file', async (t) => {
  writeFileSync(join(folder, 'jobs.json'), JSON.stringify(OPENCLAW));
  // Without it the rules would go by the zone of the machine.
  writeFileSync(join(folder, 'crontab'), `CRON_TZ=UTC\n${CRONTAB}`);
  writeFileSync(join(folder, 'letter'), 'Dear Bob,\nsee you soon.\n');
  writeFileSync(join(folder, 'list.json'), '[1]');
  let text = '';
  for (const line of [
    'jobs.json --dry-run',
    'jobs.json',
    'jobs.json',
    'crontab',
    'crontab --json',
    'letter',
    'list.json',
    'nowhere',
  ]) {
    const [file = '', ...flags] = line.split(' ');
    const { code, stdout, stderr } = await run('import', join(folder, file), ...flags);
    text += `$ spine import ${line}\n${stdout}${stderr.replace(/^/gm, '! ').replace(/! $/, '')}`;
    text += code === 0 ? '\n' : `[exit code ${code}]\n\n`;
  }
  golden(
    t,
    'import',
    normal(text.replaceAll(folder, '<data>')).replaceAll(/next <when>|next in (\d+\w)+/g, 'next <when>'),
  );
});

test("a webhook of OpenClaw's is one here too", async () => {
  const hooked = (await schedules()).find(({ name }) => name === 'Hooked');
  const { delivery_mode, delivery_channel, delivery_to } = hooked ?? {};
  assert.deepEqual(
    [delivery_mode, delivery_channel, delivery_to],
    ['announce-always', 'webhook', 'https://example.org'],
  );
});

test('a line of a crontab is a command with its variables, its input and its zone', () => {
  const source = readCrontab(CRONTAB.replace('MAILTO=ann@example.org\n', ''), 'Asia/Tokyo');
  const [backup, mail] = [...(source?.schedules ?? [])];
  assert.deepEqual(backup?.fields, {
    name: 'Nightly backup',
    schedule_cron: '15 3 * * *',
    schedule_tz: 'Asia/Tokyo',
    session_target: 'shell',
    payload_message: `export PATH='/usr/bin:/bin'\n/usr/bin/backup --name "$(date +%F)"`,
  });
  assert.equal(mail?.fields['schedule_tz'], 'Europe/Stockholm');
  assert.match(
    String(mail?.fields['payload_message']),
    /\{\nmail -s hi bob\n\} <<'END_OF_INPUT'\nDear Bob,\nsee you\nEND_OF_INPUT$/,
  );
  const twice = readCrontab('1 1 * * * x\n1 1 * * * x\n', 'UTC');
  assert.equal(new Set([...(twice?.schedules ?? [])].map(({ key }) => key)).size, 2);
  assert.equal(readCrontab('hello\n', 'UTC'), null);
  const bash = readCrontab("SHELL=/bin/bash\n1 1 * * * echo 'a'\n", 'UTC');
  const [command] = [...(bash?.schedules ?? [])];
  assert.equal(command?.fields['payload_message'], `/bin/bash -c 'echo '\\''a'\\'''`);
});

test('commands stay out where the server runs none', async () => {
  await using plain = await startServer();
  writeFileSync(join(folder, 'one'), '1 1 * * * true\n');
  const { code, stdout } = await spine(['import', join(folder, 'one')], { env: envOf(plain) });
  assert.equal(code, 1);
  assert.match(stdout, /^! true is left out: session_target shell is switched off/m);
});
