import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { EXIT_MEANINGS } from '../../src/cli/failure.ts';
import { startServer } from '../support/server.ts';
import { envOf, spine, words } from './support.ts';
import { normal } from './transcript.ts';

const guide = readFileSync(join(import.meta.dirname, '../../docs/guides/cli.md'), 'utf8');
const blocks = [...guide.matchAll(/^```console\n([^]*?)^```$/gm)].map(([, block = '']) => block);

test('every command of the guide prints what the guide shows', async () => {
  await using server = await startServer();
  let printed = '';
  let code = 0;
  let lease = '';
  for (const [line, command = ''] of blocks.join('').matchAll(/^\$ (.*)\n/gm)) {
    printed += line;
    if (command === 'echo $?') {
      printed += `${code}\n`;
      continue;
    }
    const [, stdin, args = ''] = /^(?:echo '(.*)' \| )?npx spine (.*)$/.exec(command) ?? [];
    const given = words(args.replace(/(--lease-token) \S+/, `$1 ${lease}`));
    const ran = await spine(given, { env: envOf(server), ...(stdin !== undefined && { stdin }) });
    ({ code } = ran);
    lease = /lease token +(\S+)/.exec(ran.stdout)?.[1] ?? lease;
    printed += ran.stdout + ran.stderr;
  }
  assert.equal(normal(printed), normal(blocks.join('')));
});

test('the guide lists the exit codes of the help', () => {
  const listed = [...guide.matchAll(/^\| (\d+) \|/gm)].map(([, code]) => Number(code));
  assert.deepEqual(
    listed,
    EXIT_MEANINGS.map(([code]) => code),
  );
});

test('the guide shows every check of doctor', () => {
  const file = join(import.meta.dirname, 'golden/doctor.txt');
  const golden = readFileSync(file, 'utf8').matchAll(/^pass {2}(.+?) {2}/gm);
  const [, shown = ''] = /^\$ npx spine doctor\n([^]*?)^```$/m.exec(guide) ?? [];
  const checks = shown.matchAll(/^pass {2}(.+?) {2,}/gm);
  assert.deepEqual(
    [...checks].map(([, check]) => check),
    [...golden].map(([, check]) => check),
  );
});
