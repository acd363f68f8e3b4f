import { equal, ok } from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { startServer, type TestServer } from '../support/server.ts';
import { envOf, spine, words } from './support.ts';
import { normal } from './transcript.ts';

const guideTo = (name: string): string =>
  readFileSync(join(import.meta.dirname, `../../docs/guides/${name}.md`), 'utf8');
const guide = guideTo('scheduler');
const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}/g;

test('every command of the guide to schedules prints what the guide shows', async () => {
  ok((await followed(guide)) > 10);
});

test('every command of the guide to delivery prints what the guide shows [SC-88]', async () => {
  ok((await followed(guideTo('delivery'))) > 8);
});

test('every command of the guide to questions prints what the guide shows', async () => {
  ok((await followed(guideTo('questions'))) > 8);
});

test('every command of the guide to messages prints what the guide shows [SC-86 SC-87]', async () => {
  ok((await followed(guideTo('messages'))) > 8);
});

/** Runs the commands one after another; answers how many there are. */
async function followed(page: string): Promise<number> {
  await using server = await startServer();
  const blocks = [...page.matchAll(/^```console\n([^]*?)^```$/gm)].map(([, block = '']) => block);
  const steps = blocks.flatMap((block) => block.split(/^(?=\$ )/m));
  /** Ids of the guide and what they are here. */
  const here = new Map<string, string>();
  for (const step of steps) {
    const [, command = '', shown = ''] = /^\$ (.*)\n([^]*)$/.exec(step) ?? [];
    const printed = await run(
      server,
      command.replaceAll(UUID, (id) => here.get(id) ?? id),
    );
    const made = printed.match(UUID) ?? [];
    for (const [index, id] of (shown.match(UUID) ?? []).entries()) here.set(id, made[index] ?? id);
    equal(masked(printed), masked(shown), command);
  }
  return steps.length;
}

test('every script of the guide to schedules prints what the guide shows', async () => {
  await using server = await startServer();
  const scripts = [...guide.matchAll(/^```bash\n([^]*?)^```\n\n```(?:text|json)\n([^]*?)^```$/gm)];
  ok(scripts.length > 1);
  for (const [, script = '', shown] of scripts) {
    const env = {
      PATH: process.env['PATH'] ?? '',
      SPINE_BASE_URL: server.url,
      HEAD_TOKEN: server.tokens.head,
    };
    const { stdout, stderr } = spawnSync('bash', ['-euo', 'pipefail', '-c', script], {
      encoding: 'utf8',
      env,
    });
    equal(stdout.trim(), shown?.trim(), stderr);
  }
});

async function run(server: TestServer, command: string): Promise<string> {
  const [, stdin, args = ''] = /^(?:echo '(.*)' \| )?npx spine (.*)$/.exec(command) ?? [];
  const { stdout, stderr } = await spine(words(args), {
    env: envOf(server),
    ...(stdin !== undefined && { stdin }),
  });
  return stdout + stderr;
}

/** Beginnings of ids and durations differ from run to run too. */
function masked(text: string): string {
  return normal(text)
    .replaceAll(/\b[0-9a-f]{8}-[0-9a-f]{4}(?:-[0-9a-f-]*)?\b/g, '<id…>')
    .replaceAll(/\b\d+(?:ms|s)\b/g, '<took>')
    .replaceAll(/ {2,}/g, ' ');
}
