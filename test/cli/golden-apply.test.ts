import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { startServer, type TestServer } from '../support/server.ts';
import { envOf, spine, words } from './support.ts';
import { golden, normal } from './transcript.ts';

let server: TestServer;
before(async () => {
  server = await startServer();
});
after(() => server.stop());

const BUILD = 'name: nightly build\nschedule: 0 2 * * *\ntimezone: Europe/Stockholm\nsession_target: queue\n';
const ALERT = `name: alert
parent: nightly build
trigger_on: success
trigger_condition: contains:ALERT
session_target: queue
`;
const SETTINGS = '- {kind: pool, name: gpu, capacity: 2}\n- {kind: type, name: digest, label: Digest}\n';

/** What the files are from then on, or a command. */
type Step = string | Readonly<Record<string, string>>;

const steps: readonly Step[] = [
  'apply',
  'apply -f nowhere',
  { 'chain.yaml': `${ALERT}---\n${BUILD}`, 'settings.yaml': SETTINGS },
  'apply -f $ops --dry-run',
  'apply -f $ops',
  'apply -f $ops',
  'schedules list',
  'schedules get alert',
  {
    'chain.yaml': `${ALERT}---\n${BUILD}max_retries: 2\n`,
    'report.json': '{"name":"report","every":"1h","session_target":"queue"}',
  },
  'apply -f $ops',
  {
    'chain.yaml': `${BUILD}---\nname: bad\nschedule: "99 * * * *"\n---\nname: worse\nschedule: "* * * * *"\nsesion_target: queue\n`,
    'empty.yaml': '',
  },
  'apply -f $ops',
  {
    'chain.yaml': `${BUILD}---\nname: [\n`,
    'list.json': '["x", {"kind": "moon", "name": "a"}, {"every": "1h"}]',
  },
  'apply -f $ops',
  { 'bomb.yaml': bomb() },
  'apply -f $ops',
  { 'chain.yaml': BUILD },
  'apply -f $ops',
  'apply -f $ops --prune --dry-run',
  'apply -f $ops --prune --yes',
  'apply -f $ops --prune --yes',
  'apply -f $ops --name other',
  'schedules list',
  { 'theirs.yaml': 'name: theirs\nevery: 1h\nsession_target: queue\n' },
  'apply -f $ops --prune --yes',
  'apply -f $ops --prune --yes --name theirs',
  'schedules delete theirs --quiet',
  'schedules delete "nightly build" --quiet',
];

/** A few lines that would be a gigabyte. */
function bomb(): string {
  const levels = Array.from({ length: 9 }, (_, i) => `a${i + 1}: &a${i + 1} [${`*a${i},`.repeat(9)}]\n`);
  return `name: bomb\na0: &a0 [x,x,x,x,x,x,x,x,x]\n${levels.join('')}`;
}

for (const json of [false, true]) {
  const file = json ? 'apply-json' : 'apply';
  test(`${file} reads as in its golden file`, async (t) => {
    const folder = join(server.dataDir, 'ops');
    let text = '';
    for (const step of steps) {
      if (typeof step === 'object') {
        rmSync(folder, { recursive: true, force: true });
        mkdirSync(folder);
        for (const [name, content] of Object.entries(step)) writeFileSync(join(folder, name), content);
        continue;
      }
      const line = `${step}${json ? ' --json' : ''}`;
      const { code, stdout, stderr } = await spine(words(line.replace('$ops', folder)), {
        env: envOf(server),
      });
      text += `$ spine ${line}\n${stdout}${stderr.replace(/^/gm, '! ').replace(/! $/, '')}`;
      text += code === 0 ? '\n' : `[exit code ${code}]\n\n`;
    }
    golden(t, file, normal(text).replaceAll(/\b[0-9a-f]{8}-[0-9a-f]{4}(?:-[0-9a-f-]*)?\b/g, '<id…>'));
  });
}
