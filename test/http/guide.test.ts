import { deepStrictEqual, ok, strictEqual } from 'node:assert';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { startServer, type TestServer } from '../support/server.ts';

const guides = ['http-api.md', 'events.md'].map((name) => ({
  name,
  text: readFileSync(new URL(`../../docs/guides/${name}`, import.meta.url), 'utf8'),
}));

interface Block {
  readonly language: string;
  readonly text: string;
}

suite('the guides to the HTTP API', () => {
  for (const { name, text } of guides) {
    test(`${name} prints what it says, command by command`, async () => {
      await using server = await startServer();
      const blocks = blocksOf(text);
      const commands = blocks.filter(({ language }) => language === 'bash');
      ok(commands.length > 4);
      for (const [index, block] of blocks.entries()) {
        if (block.language !== 'bash') continue;
        const next = blocks[index + 1];
        const printed = run(server, block.text);
        if (next?.language === 'json' || next?.language === 'text')
          strictEqual(withoutChance(printed), withoutChance(next.text), block.text);
      }
    });
  }

  test('names every route', async () => {
    const { DOORS } = await import('../../src/http/doors.ts');
    const named = new Set(
      [...(guides[0]?.text ?? '').matchAll(/`([^`]*)`/g)].flatMap(([, code = '']) => code.split(/[, ]+/)),
    );
    const missing = DOORS.flatMap(({ routes }) => routes).filter(
      ({ path, unlisted }) =>
        unlisted !== true && !named.has(path) && !named.has(path.split('/').at(-1) ?? ''),
    );
    deepStrictEqual(
      missing.map(({ method, path }) => `${method} ${path}`),
      [],
    );
  });
});

function blocksOf(page: string): Block[] {
  return [...page.matchAll(/^```(\w+)\n(.*?)^```$/gms)].map(([, language = '', text = '']) => ({
    language,
    text,
  }));
}

function run(server: TestServer, script: string): string {
  const cwd = mkdtempSync(join(tmpdir(), 'spine-guide-'));
  try {
    const tokens = { HEAD_TOKEN: server.tokens.head, LEFT_CLAW_TOKEN: server.tokens.left };
    const { status, stdout, stderr } = spawnSync('bash', ['-euo', 'pipefail', '-c', script], {
      cwd,
      encoding: 'utf8',
      env: { PATH: process.env['PATH'] ?? '', SPINE_BASE_URL: server.url, ...tokens },
    });
    strictEqual(status, 0, `${script}\n${stderr}`);
    return stdout;
  } finally {
    rmSync(cwd, { recursive: true });
  }
}

/** What differs from run to run reads the same. */
function withoutChance(text: string): string {
  return text
    .replace(/[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}/g, '<id>')
    .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, '<time>')
    .replace(/"(queuedMs|runMs)":\d+/g, '"$1":<ms>')
    .replace(/"leaseToken":"[\w-]+"/g, '"leaseToken":"<token>"')
    .replace(/"token":"spn_[\w-]+"/g, '"token":"<token>"')
    .replace(/"path":"[^"]+"/g, '"path":"<path>"')
    .replace(/"version":"[^"]+"/g, '"version":"<version>"')
    .trim();
}
