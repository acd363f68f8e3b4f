import assert from 'node:assert/strict';
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { suite, test, type TestContext } from 'node:test';
import { type RunOptions, spine, words } from './support.ts';

const env = { SPINE_URL: 'http://127.0.0.1:36725' };

suite('spine mcp install', () => {
  test('prints what the guide says', async () => {
    const guide = readFileSync(join(import.meta.dirname, '../../docs/guides/agents.md'), 'utf8');
    const machine = { home: '/home/ann', node: '/usr/bin/node', entry: '/opt/spine/bin/spine.cjs' };
    const blocks = [...guide.matchAll(/^```console\n\$ npx spine (mcp install .*)\n([^]*?)^```$/gm)];
    assert.equal(blocks.length, 2);
    for (const [, line = '', printed = ''] of blocks) {
      const { code, stdout } = await spine(words(line), {
        env: { SPINE_DATA_DIR: '/home/ann/board/data' },
        machine,
      });
      assert.deepEqual([code, stdout], [0, printed]);
    }
  });

  test('writes through a link, as people have it who keep such files elsewhere', async (t) => {
    const { home, options } = machineOf(t);
    const kept = join(home, 'dotfiles.json');
    writeFileSync(kept, '{}');
    symlinkSync(kept, join(home, '.claude.json'));
    const { code, stderr } = await spine(['mcp', 'install', 'claude-code'], options);
    assert.equal(code, 0, stderr);
    assert.ok(lstatSync(join(home, '.claude.json')).isSymbolicLink());
    assert.ok((read(kept)['mcpServers'] as Json)['spine']);
  });

  test('adds one entry, once, and leaves everything else in the file as it was', async (t) => {
    const { home, options } = machineOf(t);
    for (const [client, file, before, path, token] of [
      [
        'claude-code',
        '.claude.json',
        { projects: { a: 1 }, mcpServers: { other: { command: 'x' } } },
        ['mcpServers'],
        '${SPINE_TOKEN}',
      ],
      [
        'cursor',
        '.cursor/mcp.json',
        { mcpServers: { other: { url: 'y' } } },
        ['mcpServers'],
        '${env:SPINE_TOKEN}',
      ],
      [
        'openclaw',
        '.openclaw/openclaw.json',
        { gateway: { port: 1 }, mcp: { servers: { other: {} } } },
        ['mcp', 'servers'],
        '${SPINE_TOKEN}',
      ],
    ] as const) {
      const place = join(home, file);
      mkdirSync(dirname(place), { recursive: true });
      writeFileSync(place, `${JSON.stringify(before, null, 4)}\n`, { mode: 0o640 });
      chmodSync(place, 0o640);
      const dry = await spine(['mcp', 'install', client, '--dry-run'], options);
      assert.equal(dry.code, 0, dry.stderr);
      assert.deepEqual(read(place), before);
      const { code, stderr } = await spine(['mcp', 'install', client], options);
      assert.equal(code, 0, stderr);
      const after = read(place);
      const entries = path.reduce<Json>((at, step) => at[step] as Json, after);
      const { spine: entry, ...others } = entries as { spine: { url: string; headers: Json } };
      assert.equal(entry.url, 'http://127.0.0.1:36725/mcp');
      assert.deepEqual(entry.headers, { Authorization: `Bearer ${token}` });
      assert.deepEqual(Object.keys(others), ['other']);
      delete (entries as { spine?: unknown }).spine;
      assert.deepEqual(after, before);
      const text = readFileSync(place, 'utf8');
      assert.match(text, /^\{\n {4}"/);
      assert.equal(statSync(place).mode & 0o777, 0o640);
      const again = await spine(['mcp', 'install', client], options);
      assert.match(again.stdout, /has this entry already/);
      assert.equal(readFileSync(place, 'utf8'), text);
    }
  });

  test('writes a token only when asked to, into a file of its owner alone, and never prints it', async (t) => {
    const { home, options } = machineOf(t);
    const place = join(home, '.cursor/mcp.json');
    const none = await spine(['mcp', 'install', 'cursor', '--with-token'], options);
    assert.equal(none.code, 4);
    mkdirSync(dirname(place), { recursive: true });
    writeFileSync(place, '{}', { mode: 0o644 });
    const asked = ['mcp', 'install', 'cursor', '--with-token', '--token', 'hunter2-hunter2'];
    const { code, stdout } = await spine(asked, options);
    assert.equal(code, 0);
    assert.ok(!stdout.includes('hunter2'));
    assert.match(readFileSync(place, 'utf8'), /Bearer hunter2-hunter2/);
    assert.equal(statSync(place).mode & 0o777, 0o600);
  });

  test('writes of a program to start whatever it needs: where, and the token of a worker or the name of its variable', async (t) => {
    const { home } = machineOf(t);
    const dataDir = join(home, 'data');
    mkdirSync(dataDir);
    writeFileSync(join(dataDir, 'tokens.json'), JSON.stringify({ head: 'aa', left_claw: 'bb' }));
    const at = ['--data-dir', dataDir];
    const remote = 'https://spine.example';
    for (const [given, variables, args, variable] of [
      [[], {}, [...at, '--as', 'left-claw'], undefined],
      [['--as', 'head'], {}, [...at, '--as', 'head'], undefined],
      [
        ['--url', 'http://localhost:1'],
        {},
        ['--url', 'http://localhost:1', ...at, '--as', 'left-claw'],
        undefined,
      ],
      [['--url', remote], {}, ['--url', remote], '${env:SPINE_TOKEN}'],
      [[], { SPINE_TOKEN: 'cc', SPINE_URL: remote }, ['--url', remote], '${env:SPINE_TOKEN}'],
      [[], { LEFT_CLAW_TOKEN: 'dd' }, [], '${env:SPINE_TOKEN}'],
      [['--with-token', '--token', 'ee'], {}, [], '********'],
    ] as const) {
      const asked = ['mcp', 'install', 'cursor', '--stdio', '--json', ...given];
      const env = { SPINE_DATA_DIR: dataDir, ...variables };
      const { code, stdout, stderr } = await spine(asked, { env, machine: { home } });
      assert.equal(code, 0, stderr);
      const { entry, next } = JSON.parse(stdout) as {
        entry: { args: string[]; env?: Json };
        next: string[];
      };
      assert.deepEqual(entry.args.slice(2), args);
      assert.equal(entry.env?.['SPINE_TOKEN'], variable);
      assert.equal(next.length, variable?.startsWith('$') ? 1 : 0);
    }
    const place = join(home, '.cursor/mcp.json');
    assert.match(readFileSync(place, 'utf8'), /"SPINE_TOKEN": "ee"/);
    assert.equal(statSync(place).mode & 0o777, 0o600);
  });

  test('does not touch a file that it cannot read as JSON, and prints the entry to be added by hand', async (t) => {
    const { home, options } = machineOf(t);
    const place = join(home, '.openclaw/openclaw.json');
    mkdirSync(dirname(place));
    for (const text of ['{ // mine\n "mcp": {} }', '[1]', '{"mcp": []}']) {
      writeFileSync(place, text);
      const { code, stderr } = await spine(['mcp', 'install', 'openclaw'], options);
      assert.equal(code, 5, text);
      assert.match(stderr, /"spine": \{"url"/);
      assert.equal(readFileSync(place, 'utf8'), text);
    }
    assert.equal((await spine(['mcp', 'install', 'openclaw', '--project'], options)).code, 2);
    assert.equal((await spine(['mcp', 'install', 'cursor', '--name', 'a b'], options)).code, 2);
    assert.equal((await spine(['mcp', 'install', 'emacs'], options)).code, 2);
  });
});

test('spine skill install puts the page where agents look, and leaves somebody else’s skill alone', async (t) => {
  const { home, options } = machineOf(t);
  const page = readFileSync(join(import.meta.dirname, '../../SKILL.md'), 'utf8');
  for (const [client, folder] of [
    ['claude-code', '.claude/skills'],
    ['cursor', '.cursor/skills'],
    ['openclaw', '.openclaw/skills'],
  ] as const) {
    const place = join(home, folder, 'spine/SKILL.md');
    assert.match(
      (await spine(['skill', 'install', '--for', client, '--dry-run'], options)).stdout,
      /would be written/,
    );
    const { code, stdout } = await spine(['skill', 'install', '--for', client], options);
    assert.deepEqual([code, stdout], [0, `${place} is written.\n`]);
    assert.equal(readFileSync(place, 'utf8'), page);
    assert.match((await spine(['skill', 'install', '--for', client], options)).stdout, /is as it should be/);
    writeFileSync(place, '---\nname: other\n---\n');
    assert.equal((await spine(['skill', 'install', '--for', client], options)).code, 5);
    assert.match(readFileSync(place, 'utf8'), /name: other/);
  }
});

type Json = Record<string, unknown>;

function machineOf(t: TestContext): { home: string; options: RunOptions } {
  const home = mkdtempSync(join(tmpdir(), 'spine-home-'));
  t.after(() => rmSync(home, { recursive: true }));
  // Nothing of this machine's own is found there.
  return { home, options: { env: { ...env, SPINE_DATA_DIR: join(home, 'data') }, machine: { home } } };
}

function read(file: string): Json {
  return JSON.parse(readFileSync(file, 'utf8')) as Json;
}
