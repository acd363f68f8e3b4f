import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { ConfigError, loadConfig } from '../src/config.ts';
import { isLoopback, prepareTokens } from '../src/tokens.ts';

const STRONG = 'Zk3v9Qx7Lm2Tn8Rb5Wd1Yc6P';
let root: string;
let dataDir: string;
let file: string;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'spine-tokens-'));
  dataDir = join(root, 'data');
  file = join(dataDir, 'tokens.json');
});
afterEach(() => rmSync(root, { recursive: true }));

const prepare = (env: Record<string, string> = {}, random = randomBytes) =>
  prepareTokens(loadConfig({ SPINE_DATA_DIR: dataDir, ...env }), random);

function refusal(env: Record<string, string> = {}): string {
  try {
    prepare(env);
  } catch (error) {
    assert.ok(error instanceof ConfigError);
    assert.equal(error.exitCode, 78);
    return error.message;
  }
  return assert.fail('started');
}

describe('without a configured token on loopback', () => {
  test('makes three different tokens of 32 random bytes at the first start [SP-12]', () => {
    const { tokens, made, warnings } = prepare();
    assert.equal(made, true);
    assert.deepEqual(warnings, []);
    const all = [...tokens.head, ...tokens.left_claw, ...tokens.right_claw];
    assert.equal(new Set(all).size, 3);
    for (const token of all) assert.equal(Buffer.from(token, 'base64url').length, 32);
  });

  test('takes its randomness from the caller', () => {
    let calls = 0;
    const { tokens } = prepare({}, (length) => Buffer.alloc(length, ++calls));
    assert.deepEqual(tokens.left_claw, [Buffer.alloc(32, 2).toString('base64url')]);
  });

  test('uses the same tokens at the next start and says that they are not new', () => {
    const first = prepare();
    const second = prepare({ SPINE_HOST: 'localhost' });
    assert.deepEqual(second, { ...first, made: false });
  });

  test('stores them for the owner alone and leaves nothing else behind', () => {
    prepare();
    assert.equal(statSync(file).mode & 0o777, 0o600);
    assert.equal(statSync(dataDir).mode & 0o777, 0o700);
    assert.deepEqual(readdirSync(dataDir), ['tokens.json']);
  });

  test('takes over the tokens of a server that stored its own at the same moment', () => {
    const rival = mkdtempSync(join(root, 'rival-'));
    const theirs = prepare({ SPINE_DATA_DIR: rival }).tokens;
    const { tokens, made } = prepare({}, (length) => {
      mkdirSync(dataDir, { recursive: true });
      writeFileSync(file, readFileSync(join(rival, 'tokens.json')), { mode: 0o600 });
      return randomBytes(length);
    });
    assert.equal(made, false);
    assert.deepEqual(tokens, theirs);
    assert.deepEqual(readdirSync(dataDir), ['tokens.json']);
  });
});

describe('the token file is refused', () => {
  for (const mode of [0o640, 0o604, 0o620]) {
    test(`with mode ${mode.toString(8)}`, () => {
      prepare();
      chmodSync(file, mode);
      assert.equal(
        refusal(),
        `${file} can be read by other users: chmod 600 it, or remove it to get new tokens`,
      );
    });
  }

  test('when it is a symbolic link', () => {
    prepare({ SPINE_DATA_DIR: join(root, 'other') });
    mkdirSync(dataDir);
    symlinkSync(join(root, 'other/tokens.json'), file);
    assert.equal(refusal(), `${file} is a symbolic link: put the file itself there`);
  });

  test('when it is a directory', () => {
    mkdirSync(file, { recursive: true });
    assert.equal(refusal(), `${file} is not a plain file: remove it`);
  });

  const two = { head: STRONG, left_claw: `${STRONG}l` };
  const damaged = {
    empty: '',
    'cut off': '{"head": "',
    null: 'null',
    'without the right claw': JSON.stringify(two),
    'with a short token': JSON.stringify({ ...two, right_claw: 'short' }),
    'with a number for a token': JSON.stringify({ ...two, right_claw: 7 }),
    'with one token for two roles': JSON.stringify({ ...two, right_claw: STRONG }),
  };
  for (const [name, text] of Object.entries(damaged)) {
    test(`when it is ${name}, and stays as it is`, () => {
      mkdirSync(dataDir);
      writeFileSync(file, text, { mode: 0o600 });
      assert.equal(refusal(), `${file} is damaged: remove it to get new tokens`);
      assert.equal(readFileSync(file, 'utf8'), text);
    });
  }

  test('when the data folder cannot be made', () => {
    writeFileSync(join(root, 'plain'), '');
    const message = refusal({ SPINE_DATA_DIR: join(root, 'plain/data') });
    assert.match(message, /tokens\.json cannot be (read|written) \(ENOTDIR/);
  });
});

describe('on a host that others can reach', () => {
  for (const host of ['0.0.0.0', '::', '192.168.1.5', 'spine.lan']) {
    test(`${host} is refused without a token [SP-12]`, () => {
      assert.match(refusal({ SPINE_HOST: host, HEAD_TOKENS: ' , ' }), /no token is set: set HEAD_TOKEN/);
      assert.equal(existsSync(dataDir), false);
    });
  }

  test('made tokens from an earlier start do not count', () => {
    prepare();
    assert.match(refusal({ SPINE_HOST: '0.0.0.0' }), /no token is set/);
  });

  test('a short token is refused, whichever role has it, and never repeated', () => {
    const message = refusal({
      SPINE_HOST: '0.0.0.0',
      HEAD_TOKEN: STRONG,
      RIGHT_CLAW_TOKENS: `${STRONG}r,test123`,
    });
    assert.equal(
      message,
      'SPINE_HOST=0.0.0.0: a right_claw token has 7 characters, which can be guessed: use 24 or more',
    );
  });

  test('a long token of few characters is refused', () => {
    assert.match(
      refusal({ SPINE_HOST: '0.0.0.0', HEAD_TOKEN: 'ab'.repeat(20) }),
      /only 2 different characters/,
    );
  });

  test('strong tokens are accepted and nothing is written', () => {
    const { tokens, made, warnings } = prepare({ SPINE_HOST: '0.0.0.0', HEAD_TOKEN: STRONG });
    assert.deepEqual(
      { tokens, made, warnings },
      {
        tokens: { head: [STRONG], left_claw: [], right_claw: [] },
        made: false,
        warnings: [],
      },
    );
    assert.equal(existsSync(dataDir), false);
  });
});

test('a short token on loopback works with a warning that does not repeat it', () => {
  const { tokens, warnings } = prepare({ HEAD_TOKEN: 'test123' });
  assert.deepEqual(tokens.head, ['test123']);
  assert.deepEqual(warnings, ['a head token has 7 characters, which can be guessed: use 24 or more']);
});

test('loopback is 127.0.0.0/8, ::1 and localhost', () => {
  for (const host of ['127.0.0.1', '127.8.9.10', '::1', '0:0:0:0:0:0:0:1', 'localhost', 'LOCALHOST'])
    assert.equal(isLoopback(host), true, host);
  for (const host of [
    '0.0.0.0',
    '::',
    '128.0.0.1',
    '10.0.0.1',
    '::2',
    'localhost.evil.example',
    '127.evil.example',
  ])
    assert.equal(isLoopback(host), false, host);
});
