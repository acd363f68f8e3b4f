import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { greeting } from '../../src/app/greeting.ts';
import type { TokenPlace } from '../../src/app/server-tokens.ts';
import { loadConfig } from '../../src/config.ts';
import { startServer } from '../support/server.ts';

const REPO = join(import.meta.dirname, '../..');
const NO_TOKENS = { HEAD_TOKEN: '', LEFT_CLAW_TOKEN: '', RIGHT_CLAW_TOKEN: '' };
const known = { head: ['h-secret'], left_claw: ['l-secret'], right_claw: ['r-secret'] };
const greeted = (place: TokenPlace, isFresh = false) => ({
  url: 'http://127.0.0.1:1',
  tokens: { known, fresh: isFresh ? known : null, place, warnings: [] },
});

/** Runs what the greeting prints, word for word, as somebody in the clone would. */
function follow(output: string): string {
  const command = /^ {2}(npx spine .+)$/m.exec(output)?.[1] ?? assert.fail(output);
  // The tokens of the tests' own environment are not there for whoever reads the greeting.
  return execFileSync('/bin/sh', ['-c', command], {
    cwd: REPO,
    encoding: 'utf8',
    env: { PATH: `${join(process.execPath, '..')}:${process.env['PATH']}`, HOME: process.env['HOME'] },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}

test('fresh tokens are shown at a terminal, once, and nowhere else', () => {
  const config = loadConfig({});
  const seen = greeting(greeted('here', true), config, true).join('\n');
  for (const [token] of Object.values(known)) assert.ok(seen.includes(token ?? '?'), seen);
  for (const lines of [
    greeting(greeted('here', true), config, false),
    greeting(greeted('here'), config, true),
  ]) {
    const text = lines.join('\n');
    assert.doesNotMatch(text, /secret|\$/);
    assert.match(text, /The tokens are in data\/tokens\.json, which only its owner may read/);
    assert.match(text, /^ {2}npx spine jobs add "Say hello"$/m);
  }
});

test('a configured token is neither shown nor said to be in a file', () => {
  const config = loadConfig({ HEAD_TOKEN: 'configured', SPINE_DATA_DIR: '/srv/my data' });
  const text = greeting(greeted('settings'), config, true).join('\n');
  assert.doesNotMatch(text, /secret|configured|tokens\.json/);
  assert.match(text, /^ {2}npx spine jobs add "Say hello" --data-dir '\/srv\/my data'$/m);
});

test('a server of an installation whose tokens were made elsewhere says where, and how to be let in', () => {
  const config = loadConfig({ DATABASE_URL: 'postgres://db/spine', SPINE_DATA_DIR: '/srv/b' });
  const text = greeting(greeted({ elsewhere: 'alpha:/srv/a/tokens.json' }), config, true).join('\n');
  assert.doesNotMatch(text, /secret/);
  assert.match(text, /written down when they were made, in alpha:\/srv\/a\/tokens\.json$/m);
  assert.match(
    text,
    /copy that file to \/srv\/b\/tokens\.json, mode 600\. Lost them\? npx spine token renew/,
  );
  assert.match(text, /^Create a job, with those tokens here, or with SPINE_TOKEN set:$/m);
});

test('a service keeps no token in its log, and what its greeting prints works as printed, at every start', async () => {
  await using server = await startServer({ env: NO_TOKENS, logLevel: 'debug' });
  const file = join(server.dataDir, 'tokens.json');
  const tokens = Object.values(JSON.parse(readFileSync(file, 'utf8')) as Record<string, string>);
  assert.equal(statSync(file).mode & 0o777, 0o600);
  for (let start = 1; start <= 2; start++) {
    const output = server.output();
    for (const token of tokens) assert.ok(!output.includes(token), output);
    assert.ok(output.includes(`The tokens are in ${file}`), output);
    assert.match(follow(output), new RegExp(`#${start}\\b`));
    await server.restart();
  }
});
