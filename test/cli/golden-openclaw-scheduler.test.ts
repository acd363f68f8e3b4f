import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { buildSchedulerProgram } from '../../src/cli/scheduler/program.ts';
import { startServer, type TestServer } from '../support/server.ts';
import { envOf, type RunOptions, spine, words } from './support.ts';
import { golden, normal } from './transcript.ts';

let server: TestServer;
before(async () => {
  server = await startServer();
});
after(() => server.stop());

const run = (args: readonly string[], options: RunOptions = {}) =>
  spine(args, { env: envOf(server), build: buildSchedulerProgram, ...options });

const BUILD = '{"name":"build","schedule":"0 2 * * *","session_target":"queue","payload_message":"Build"}';
const DEPLOY =
  '{"name":"deploy","parent_id":"$1","trigger_on":"success","session_target":"queue","approval_required":true}';

/** The text's list of commands, line by line; `$1` and `$2` are the jobs that were added. */
const LINES: readonly (string | { readonly line: string; readonly stdin: string })[] = [
  'status',
  `jobs add '${BUILD}'`,
  { line: 'jobs add -', stdin: DEPLOY },
  'jobs add --name nightly --cron "0 3 * * *" --session-target queue --dry-run',
  'jobs list',
  'jobs tree',
  'jobs get $1',
  `jobs update $1 '{"max_retries":1,"schedule":"0 4 1 1 *"}' --dry-run`,
  'jobs update $2 --parent $2 --trigger-on failure --dry-run',
  `jobs update $1 '{"max_retries":1}'`,
  'jobs disable $1',
  'jobs enable $1',
  'jobs run $1',
  'runs list $1 5',
  'runs running',
  'runs stale 60',
  'jobs run $2',
  'approvals list',
  'approvals pending',
  'jobs approve $2',
  'jobs approve $2',
  'jobs cancel $1 --dry-run',
  'jobs cancel $1 --no-cascade --dry-run',
  'jobs cancel $2',
  'jobs enable $2',
  'jobs run $2',
  'jobs reject $2 "not on Friday"',
  'approvals list',
  'status',
  'jobs get nobody',
  'jobs enable nobody',
  'jobs delete nobody',
  'runs list nobody',
  'runs stale soon',
  `jobs add '{"name":"x","schedule":"99 * * * *","payload_message":"x"}'`,
  'jobs add {',
  'jobs update $1 {}',
  'jobs delete $1 --dry-run',
  'jobs update $1 --cron "99 * * * *" --dry-run',
  'jobs delete $1',
  'jobs list',
];

const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}/;

for (const json of [false, true]) {
  const file = json ? 'openclaw-scheduler-json' : 'openclaw-scheduler';
  test(`${file}: the text's commands read as in their golden file [SC-82 SC-83 SC-84 SC-85]`, async (t) => {
    const known = new Map<string, string>();
    let text = '';
    for (const each of LINES) {
      const { line, stdin } = typeof each === 'string' ? { line: each } : each;
      const filled = (from: string) => from.replaceAll(/\$\d/g, (name) => known.get(name) ?? name);
      const ran = await run([...words(filled(line)), ...(json ? ['--json'] : [])], {
        ...(stdin !== undefined && { stdin: filled(stdin) }),
      });
      const id = UUID.exec(ran.stdout)?.[0];
      if (line.startsWith('jobs add') && ran.code === 0 && id !== undefined && !line.includes('dry-run'))
        known.set(`$${known.size + 1}`, id);
      text += `$ openclaw-scheduler ${line}${json ? ' --json' : ''}\n${ran.stdout}`;
      text += ran.stderr.replace(/^/gm, '! ').replace(/! $/, '');
      text += ran.code === 0 ? '\n' : `[exit code ${ran.code}]\n\n`;
    }
    golden(t, file, masked(normal(text)));
  });
}

function masked(text: string): string {
  return text
    .replaceAll(/\b[0-9a-f]{8}-[0-9a-f]{4}(?:-[0-9a-f-]*)?\b/g, '<id…>')
    .replaceAll(/\b[0-9a-f]{64}\b/g, '<hash>')
    .replaceAll(/("next_before": )\d+/g, '$1<n>');
}

test('a job is named by the beginning of its id everywhere [SC-83]', async () => {
  const { stdout } = await run(['jobs', 'add', BUILD, '--json']);
  const { job } = JSON.parse(stdout) as { job: { id: string } };
  const short = job.id.slice(0, 16);
  for (const line of [
    'jobs get',
    'jobs disable',
    'jobs enable',
    'jobs run',
    'runs list',
    'jobs cancel',
    'jobs delete',
  ]) {
    const { code, stderr } = await run([...line.split(' '), short]);
    assert.equal(code, 0, `${line}: ${stderr}`);
  }
});

const BIN = fileURLToPath(new URL('../../bin/openclaw-scheduler.cjs', import.meta.url));

test('its completion knows its words, and bash can read it', async () => {
  const { stdout } = await run(['completion', 'bash']);
  const script = `${stdout}\nCOMP_WORDS=('${BIN}' jobs a); COMP_CWORD=2; _openclaw_scheduler; echo "\${COMPREPLY[@]}"`;
  assert.equal(spawnSync('bash', ['-c', script], { encoding: 'utf8' }).stdout.trim(), 'add approve');
});
