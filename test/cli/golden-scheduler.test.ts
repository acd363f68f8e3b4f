import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { startServer, type TestServer } from '../support/server.ts';
import { envOf, spine, words } from './support.ts';
import { golden, normal } from './transcript.ts';

let server: TestServer;
before(async () => {
  server = await startServer();
  const night = {
    name: 'From a file',
    schedule: '0 2 * * *',
    timezone: 'UTC',
    payload_message: 'Sleep well',
  };
  writeFileSync(join(server.dataDir, 'night.json'), JSON.stringify(night));
  writeFileSync(join(server.dataDir, 'broken.json'), '{');
});
after(() => server.stop());

interface Step {
  readonly line: string;
  readonly stdin?: string;
  /** Claims the last run and ends it, just before or while the command waits. */
  readonly worker?: (server: TestServer) => Promise<unknown>;
}

const scenarios: Readonly<Record<string, readonly (string | Step)[]>> = {
  schedules: [
    'schedules list',
    'schedules tree',
    'schedules add --name Report --cron "0 9 * * 1-5" --tz Europe/Stockholm --message "Write it" --agent ops',
    'schedules add --name Send --parent Report --trigger-on success --trigger-delay 1m --message "Send it" --approval',
    { line: 'schedules add -', stdin: '{"name":"Poll","scheduleEveryMs":"10m","session_target":"queue"}' },
    'schedules add --file $data/night.json --disabled --quiet',
    'schedules list',
    'schedules list --disabled',
    'schedules tree',
    'schedules get Report',
    'schedules get $1 --quiet',
    'schedules preview Report -n 2',
    'schedules preview "0 9 * * 1-5" --tz Europe/Stockholm -n 2',
    'schedules set --name Nightly --cron "0 2 * * *" --session-target queue --until 2099-01-01T00:00 --max-runs 5 --jitter 30s',
    'schedules set --name Nightly --cron "0 2 * * *" --session-target queue --until 2099-01-01T00:00 --max-runs 5 --jitter 30s',
    'schedules set --name Nightly --cron "0 3 * * *" --session-target queue',
    'schedules add --name Never --cron "0 3 * * *" --session-target queue --dry-run',
    'schedules delete Nightly --quiet',
    'schedules update Report --cron "0 8 * * *" --set max_retries=2 --dry-run',
    'schedules update Report --cron "0 8 * * *" --set max_retries=2',
    'schedules disable Report Poll',
    'schedules enable Report',
    'schedules missed Report',
    'schedules runs Report',
    'schedules cancel Report --dry-run',
    'schedules cancel Report --no-cascade',
    'schedules cancel Report',
    'schedules delete Report --dry-run',
    'schedules delete Report',
    'schedules get Report',
    'schedules delete Poll --quiet',
    'schedules delete "From a file" --quiet',
  ],
  'schedules-trouble': [
    'schedules add --name Bad --cron "99 * * * *" --message x',
    'schedules add --name Bad --cron "* * * *" --message x',
    'schedules add --name Bad --cron "" --message x',
    'schedules add --name Bad --cron "0 2 * * *" --tz Mars/X --message x',
    'schedules preview "61 * * * *"',
    'schedules preview "* * * * *" --tz Mars/X',
    'schedules set --cron "* * * * *"',
    'schedules add --name Bad --every 1h --until 2001-01-01T00:00 --message x',
    'schedules add --name Bad --every soon --message x',
    'schedules add --name Bad --message x',
    'schedules add --set nmae=Bad --cron "0 2 * * *"',
    'schedules add --set max_retires=2 --name Bad --cron "0 2 * * *" --message x',
    'schedules add --name Bad --parent nobody --trigger-on success --message x',
    'schedules add --set nothing',
    'schedules add',
    'schedules add {',
    'schedules add [1]',
    'schedules add --file $data/broken.json',
    'schedules add --file $data/nowhere.json',
    'schedules add --name Bad --cron "0 2 * * *" --session-target moon --message x',
    'schedules add --name Bad --command true --manual',
    'schedules list',
    'schedules add --name Alike --manual --session-target queue --quiet',
    'schedules add --name alike --manual --session-target queue --quiet',
    'schedules get ALIKE',
    'schedules get Alik',
    'schedules get 0',
    'schedules get $prefix',
    'schedules lst',
    'schedules run nobody',
    'schedules update $1',
    'schedules update $1 --parent $1 --trigger-on success',
    'schedules approve $1',
    'schedules delete $1 --quiet',
    'schedules delete $2 --quiet',
  ],
  runs: [
    'runs list',
    'runs stale',
    'schedules add --name Work --manual --session-target queue --message "Do it"',
    'schedules run Work',
    'runs list --status pending',
    'schedules run Work',
    'runs cancel $first --reason "not needed"',
    'runs cancel $last',
    {
      line: 'schedules run Work --wait --timeout 20s',
      worker: (at) =>
        end(at, 'complete', { result: { text: 'All done\nand well', usage: { total_tokens: 7 } } }),
    },
    {
      line: 'schedules run Work --wait --timeout 20s',
      worker: (at) => end(at, 'fail', { error: 'no network' }),
    },
    'schedules run Work --wait --timeout 50ms',
    'schedules runs Work',
    'runs list --limit 2',
    'runs get $last',
    'runs get nothing',
    'runs list --status nonsense',
    'runs stale --threshold 1s',
    'schedules delete Work --quiet',
  ],
  approvals: [
    'approvals list --status pending',
    'schedules add --name Deploy --manual --session-target queue --message "Ship it" --approval --approval-auto approve --overlap allow',
    'schedules run Deploy',
    'approvals get $last',
    'approvals approve $last --reason "go ahead"',
    'approvals approve $last',
    'schedules run Deploy --quiet',
    'approvals approve $last --hash 0000000000000000000000000000000000000000000000000000000000000000',
    'approvals reject $last --reason "not on Friday"',
    'schedules run Deploy --quiet',
    'schedules reject Deploy --reason no',
    'schedules approve Deploy',
    'approvals list',
    'approvals get nothing',
    'approvals get $1',
    'schedules delete Deploy --quiet',
  ],
  alias: [
    'alias list',
    'alias add ops telegram -1001234567890 "The ops channel"',
    'alias add @team gateway discord:123',
    'alias add hook webhook https://127.0.0.1/x',
    'alias add diary log',
    'alias list',
    'subscriptions list',
    'subscriptions add ops failed dead --type digest',
    'subscriptions add nobody failed',
    'subscriptions add ops sunrise',
    'subscriptions list',
    'alias remove ops',
    'alias remove team --yes',
    'alias remove team',
    'schedules add --name Say --manual --session-target queue --message "Say it" --set delivery_to=@nobody',
    'schedules add --name Say --manual --session-target queue --message "Say it" --set delivery_to=@diary',
    'deliveries list',
    {
      line: 'schedules run Say',
      worker: async (at) => untilDelivered(at, await end(at, 'complete', { result: { text: 'Dear diary' } })),
    },
    'deliveries list --run $last',
    'deliveries list --status failed',
    'deliveries retry nothing',
    'schedules delete Say --quiet',
    'alias remove diary --quiet',
  ],
};

/** What a scenario proves beside its words. */
const PROVES: Readonly<Record<string, string>> = { runs: ' [SC-22]' };

for (const [name, steps] of Object.entries(scenarios)) {
  for (const json of [false, true]) {
    const file = json ? `${name}-json` : name;
    test(`${file} reads as in its golden file${PROVES[name] ?? ''}`, async (t) => {
      golden(t, file, await transcript(steps, json));
    });
  }
}

const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}/g;

/** `$1` is the first schedule that was made, `$first` and `$last` the runs. */
async function transcript(steps: readonly (string | Step)[], json: boolean): Promise<string> {
  const known = new Map([['$data', server.dataDir]]);
  let made = 0;
  let text = '';
  for (const each of steps) {
    const step: Step = typeof each === 'string' ? { line: each } : each;
    const ending = json ? ' --json' : '';
    const line = step.line.replaceAll(/\$\w+/g, (word) => known.get(word) ?? word);
    const [{ code, stdout, stderr }] = await Promise.all([
      spine(words(`${line}${ending}`), {
        env: envOf(server),
        ...(step.stdin !== undefined && { stdin: step.stdin }),
      }),
      step.worker?.(server),
    ]);
    const ids = [...stdout.matchAll(UUID)].map(([id]) => id);
    if (line.startsWith('schedules add')) for (const id of ids.slice(0, 1)) known.set(`$${++made}`, id);
    known.set('$prefix', (known.get('$1') ?? '').slice(0, 6));
    if (line.startsWith('schedules run')) {
      for (const id of ids.slice(0, 1)) known.set('$last', id);
      if (!known.has('$first')) known.set('$first', known.get('$last') ?? '');
    }
    text += `$ spine ${step.line}${ending}\n${stdout}${stderr.replace(/^/gm, '! ').replace(/! $/, '')}`;
    if (code !== 0) text += `[exit code ${code}]\n`;
    text += '\n';
  }
  return masked(normal(text));
}

/** Beginnings of ids, durations and hashes differ from run to run too. */
function masked(text: string): string {
  return text
    .replaceAll(/\b[0-9a-f]{8}-[0-9a-f]{4}(?:-[0-9a-f-]*)?\b/g, '<id…>')
    .replaceAll(/(?<!--\w+ )\b\d+(?:ms|s)\b(?!\.)/g, '<time>')
    .replaceAll(/(begins with )[0-9a-f]{6}/g, '$1<id…>')
    .replaceAll(/("duration_ms": )\d+/g, '$1<n>')
    .replaceAll(/("next_before": |--before )\d+/g, '$1<n>')
    .replaceAll(/(hash"?:? +"?)[1-9a-f][0-9a-f]{63}/g, '$1<hash>')
    .replaceAll(/\b[0-9a-f]{64}\b/g, (hash) => (/^0+$/.test(hash) ? hash : '<hash>'));
}

/** Answers which it was. */
async function end(at: TestServer, verb: 'complete' | 'fail', body: object): Promise<string> {
  const { body: claimed } = await at.left.post<{ jobs: { id: string; leaseToken: string }[] }>(
    '/jobs/claim',
    {
      waitMs: 10_000,
    },
  );
  const [job] = claimed.jobs;
  await at.left.post(`/jobs/${job?.id}/${verb}`, { ...body, leaseToken: job?.leaseToken });
  return job?.id ?? '';
}

async function untilDelivered(at: TestServer, runId: string): Promise<void> {
  const look = () => at.head.get<{ deliveries: object[] }>(`/deliveries?run_id=${runId}&status=delivered`);
  while ((await look()).body.deliveries.length === 0) await new Promise((resolve) => setTimeout(resolve, 20));
}
