import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { after, before, suite, test } from 'node:test';
import { buildSchedulerProgram } from '../../src/cli/scheduler/program.ts';
import { begin } from '../backup/live.ts';
import { startServer, type TestServer } from '../support/server.ts';
import { envOf, type Ran, spine, words } from './support.ts';
import { golden, normal } from './transcript.ts';

/** A line as the scheduler's text has it, and what stands for its names here. */
type Line = readonly [text: string, ...names: string[]];

/**
 * The text's list of commands, line by line and in its order. `node cli.js` is `openclaw-scheduler`, `node backup.js` is
 * `openclaw-scheduler backup`; a name in angles or brackets is filled in from behind the line, `$x` from what was made.
 */
const BLOCK: readonly Line[] = [
  ['node cli.js status'],
  ['node cli.js jobs list'],
  ['node cli.js jobs tree'],
  ['node cli.js jobs get <id>', '$build'],
  [
    "node cli.js jobs add '<json>'",
    '{"name":"nightly-audit","delivery_guarantee":"at-least-once","schedule":"0 2 * * *","payload_message":"Look at the logs"}',
  ],
  [
    "node cli.js jobs update <id> '<json>'",
    'nightly-audit',
    '{"max_retries":2,"context_retrieval":"hybrid"}',
  ],
  ['node cli.js jobs enable <id>', 'nightly-audit'],
  ['node cli.js jobs disable <id>', 'nightly-audit'],
  ['node cli.js jobs delete <id>', 'nightly-audit'],
  ['node cli.js jobs cancel <id>', '$sweep'],
  ['node cli.js jobs run <id>', '$build'],
  ['node cli.js jobs approve <id>', 'deploy'],
  ['node cli.js jobs reject <id> [reason]', 'deploy', '"not on Friday"'],
  ['node cli.js runs list <job-id> [limit]', '$build', '5'],
  ['node cli.js runs running'],
  ['node cli.js runs stale [threshold-s]', '600'],
  ['node cli.js approvals list'],
  ['node cli.js approvals pending'],
  ['node cli.js msg send <from> <to> <body>', 'ops', 'main', '"Back at nine"'],
  ['node cli.js msg inbox <agent> [limit]', 'main', '10'],
  ['node cli.js msg outbox <agent> [limit]', 'ops', '10'],
  ['node cli.js msg thread <message-id>', '$message'],
  ['node cli.js msg read <message-id>', '$message'],
  ['node cli.js msg readall <agent>', 'main'],
  ['node cli.js msg unread <agent>', 'main'],
  ['node cli.js agents list'],
  ['node cli.js agents get <id>', 'ops'],
  ['node cli.js agents register <id> [name]', 'ops', '"Operations"'],
  ['node cli.js alias list'],
  ['node cli.js alias add <n> <ch> <tgt>', 'ops-channel', 'telegram', '-1001234567890'],
  ['node cli.js alias remove <name>', 'ops-channel'],
  ['node backup.js snapshot'],
  ['node backup.js rollup'],
  ['node backup.js restore'],
  ['node backup.js status'],
];

for (const json of [false, true]) {
  suite(`the text's commands${json ? ' for programs' : ''}`, () => {
    let server: TestServer;
    let ids: Readonly<Record<string, string>>;
    before(async () => {
      server = await startServer();
      ids = await prepare(server);
    });
    after(async () => {
      await server.stop();
      for (const folder of [copiesOf(server), restoredOf(server)])
        rmSync(folder, { recursive: true, force: true });
    });

    test('run line by line and print what a person would want to read [SC-75 SC-82 SC-83 SC-84 SC-85 SC-86 SC-87 SC-88]', async (t) => {
      let text = '';
      for (const [line, ...names] of BLOCK) {
        const filled = fill(line, names);
        const known = filled.replaceAll(/\$(\w+)/g, (_, name: string) => ids[name] ?? assert.fail(name));
        const { code, stdout, stderr } = await run(server, words(`${known}${json ? ' --json' : ''}`));
        assert.equal(code, 0, `${line}: ${stderr}`);
        text += `$ openclaw-scheduler ${filled}${json ? ' --json' : ''}\n${stdout}`;
        text += `${stderr.replace(/^/gm, '! ').replace(/! $/, '')}\n`;
      }
      golden(t, `text${json ? '-json' : ''}`, masked(normal(text)));
    });
  });
}

/** A message, a job that has run, one that waits for two approvals, one to be cancelled, and a run under way. */
async function prepare({ head, left }: TestServer): Promise<Record<string, string>> {
  const made = async (body: object): Promise<string> =>
    (await head.post<{ id: string }>('/schedules', { session_target: 'queue', target: 'left-claw', ...body }))
      .body.id;
  const build = await made({ name: 'build', schedule: '0 2 * * *', overlap_policy: 'allow' });
  const deploy = await made({
    name: 'deploy',
    parent_id: build,
    trigger_on: 'success',
    trigger_condition: 'contains:green',
    approval_required: true,
    overlap_policy: 'allow',
  });
  const sweep = await made({ name: 'sweep', every: '10m' });
  for (const id of [build, deploy, deploy, sweep]) await head.post(`/schedules/${id}/run`);
  const { body } = await left.post<{ jobs: { id: string }[] }>('/jobs/claim', {
    targets: ['left-claw'],
    max: 1,
  });
  await left.post(`/jobs/${body.jobs[0]?.id}/complete`, { result: { text: 'Built, and all is red' } });
  await head.post(`/schedules/${build}/run`);
  await left.post('/jobs/claim', { targets: ['left-claw'], max: 2 });
  await head.post('/agents', { id: 'ops', name: 'Ops' });
  const constraint = { from_agent: 'ops', to_agent: 'main', kind: 'constraint', body: 'No deploys today' };
  const { body: message } = await head.post<{ id: string }>('/messages', constraint);
  return { build, deploy, sweep, message: message.id };
}

function fill(line: string, names: readonly string[]): string {
  const rest = [...names];
  const filled = line
    .replace('node cli.js ', '')
    .replace('node backup.js', 'backup')
    .replaceAll(/<[\w-]+>|\[[\w-]+\]/g, () => rest.shift() ?? assert.fail(line));
  assert.deepEqual(rest, [], line);
  return filled;
}

const copiesOf = ({ dataDir }: TestServer): string => `${dataDir}-copies`;
/** Nothing is brought back over a server that runs: it is as on another machine. */
const restoredOf = ({ dataDir }: TestServer): string => `${dataDir}-restored`;

/** A backup is made by a process of its own, the rest in this one. */
async function run(server: TestServer, args: readonly string[]): Promise<Ran> {
  const env = envOf(server);
  if (args[0] !== 'backup') return spine(args, { env, build: buildSchedulerProgram });
  const place = {
    SCHEDULER_BACKUP_DIR: copiesOf(server),
    ...(args[1] === 'restore' && { SPINE_DATA_DIR: restoredOf(server) }),
  };
  const { code, ...said } = await begin(args.slice(1), { ...env, ...place }, 'openclaw-scheduler').ran;
  return { code: code ?? -1, ...said };
}

function masked(text: string): string {
  return (
    text
      .replaceAll(/\b[0-9a-f]{8}-[0-9a-f]{4}(?:-[0-9a-f-]*)?\b/g, '<id…>')
      .replaceAll(/\b[0-9a-f]{64}\b/g, '<hash>')
      .replaceAll(/\d{4}-\d\d-\d\d\/\d\d-\d\d-\d\d/g, '<name>')
      .replaceAll(/[\d.,]+ (?:bytes|[kKMG]i?B)\b/g, '<size>')
      .replaceAll(
        /("(?:size|bytes|at|lastSnapshotAt|lastRollupAt|lastTryAt|uploadedBytes|duration_ms)": )\d+/g,
        '$1<n>',
      )
      .replaceAll(/\b\d+(?:ms|s)(?=  )/g, '<took>')
      // Both follow by themselves, within seconds.
      .replaceAll(/"journal": \[[^\]]*\]/g, '"journal": <files>')
      .replaceAll(/\b(?:online|offline|busy|idle)\b/g, '<status>')
  );
}
