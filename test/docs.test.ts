import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { freshClone } from './support/clone.ts';
import { blockOf, blocksOf, reader } from './support/reader.ts';
import { freePort } from './support/server.ts';

const REPO = join(import.meta.dirname, '..');
const GUIDES = 'docs/guides';
const PAGES = [
  'README.md',
  'CONTRIBUTING.md',
  'SKILL.md',
  'docs/architecture.md',
  ...readdirSync(join(REPO, GUIDES))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `${GUIDES}/${name}`),
];

const HERE = 'run below, in a fresh clone';

/** How each block is shown to work: the test that runs it, or the reason why none does. */
const SHOWN: Readonly<Record<string, readonly (readonly [beginning: RegExp, how: string])[]>> = {
  'README.md': [
    [/^npm ci && npm test\n/, 'it runs this test'],
    [/^npm ci && npm start\n/, HERE],
    [/^Spine is ready at/, HERE],
    [/^npx spine jobs claim/, HERE],
    [/^/, 'test/packages.test.ts'],
  ],
  'CONTRIBUTING.md': [[/^npm ci\nnpm run check\nnpm test\n/, 'it is what CI runs, this test included']],
  'SKILL.md': [[/^/, 'test/http/skill.test.ts']],
  'docs/architecture.md': [[/^(flowchart|stateDiagram-v2)\n?/, 'pictures; test/architecture-page.test.ts']],
  'docs/guides/http-api.md': [
    [/^(HEAD_TOKEN=|export )/, 'test/http/guide.test.ts starts its own server, with its own tokens'],
    [/^/, 'test/http/guide.test.ts'],
  ],
  'docs/guides/agents.md': [
    [/^\$ npx spine token add/, 'the token would be real; test/cli/golden-server.test.ts'],
    [/^\$ npx spine mcp install/, 'test/cli/mcp-install.test.ts'],
  ],
  'docs/guides/events.md': [
    [/^import /, HERE],
    [/^/, 'test/http/guide.test.ts'],
  ],
  'docs/guides/cli.md': [
    [/^npx spine serve/, 'npm start runs the same, below'],
    [/^\$ npx spine doctor\n/, 'it tells of the reader’s machine; test/cli/golden/doctor.txt'],
    [/^\$ npx spine service install/, 'it would change the reader’s machine; test/cli/golden/service.txt'],
    [/^\$ /, 'test/cli/guide.test.ts'],
  ],
  'docs/guides/scheduler.md': [
    [/^select /, 'test/store/schema.test.ts reads the views'],
    [/^/, 'test/cli/scheduler-guide.test.ts'],
  ],
  'docs/guides/delivery.md': [[/^\$ /, 'test/cli/scheduler-guide.test.ts']],
  'docs/guides/questions.md': [
    [/^\$ /, 'test/cli/scheduler-guide.test.ts'],
    [/^import /, 'test/client/workers-guide.test.ts'],
    [/^ASK /, 'test/scheduler/asking.test.ts'],
  ],
  'docs/guides/telegram.md': [
    [/^(curl -s "https:|export TELEGRAM)/, 'the bot is the reader’s own; test/app/telegram.test.ts'],
    [/^\{\n {2}"label"/, 'test/loops/chat-reader.test.ts'],
  ],
  'docs/guides/messages.md': [[/^\$ /, 'test/cli/scheduler-guide.test.ts']],
  'docs/guides/workers.md': [
    [/^import [^]*interface Work/, 'test/packages.test.ts compiles it'],
    [/^(export|import)/, HERE],
  ],
  'docs/guides/operating.md': [[/^\{"t":/, 'test/app/log.test.ts tells of such a job']],
  'docs/guides/bridge.md': [[/^export SPINE=/, 'test/http/bridge.test.ts']],
  'docs/guides/task-queue.md': [[/^(printf|call|TOKEN=)/, 'test/http/bots-guide.test.ts']],
  'docs/guides/worker-service.md': [
    [/^npx spine /, 'test/worker/service runs the command with every kind of session'],
  ],
  'docs/guides/files-and-backups.md': [
    [/^(npx spine (backup|rebuild)|Made the snapshot)/, HERE],
    [/^SCHEDULER_BACKUP_ENABLED=/, 'settings of the reader’s own storage; test/backup/s3.test.ts'],
    [/^SPINE_BLOB_BUCKET=/, 'settings of the reader’s own storage; test/installation/artifacts-s3.test.ts'],
  ],
  'docs/guides/gateway.md': [
    [/^OPENCLAW_GATEWAY_URL=/, 'settings of the reader’s own gateway; test/gateway'],
    [/^curl -s "\$SPINE_URL\/messages"/, 'test/scheduler/shell.test.ts'],
  ],
  'docs/guides/deploy.md': [
    [/^for name in POSTGRES_PASSWORD/, 'test/containers.test.ts'],
    [/^(server \{|spine\.example \{)/, 'test/deploy.test.ts'],
    [/^SPINE_ALLOWED_HOSTS=/, 'test/deploy.test.ts sets it'],
    [/^sudo npx spine service install/, 'it would change the reader’s machine; test/cli/golden/service.txt'],
  ],
  'docs/guides/performance.md': [[/^(npm run bench|git worktree)/, 'it takes a quarter of an hour']],
};

test('every block of the pages is run by a test, or says why not', () => {
  const strange = PAGES.flatMap((page) =>
    blocksOf(page)
      .filter(({ text }) => !SHOWN[page]?.some(([beginning]) => beginning.test(text)))
      .map(({ text }) => `${page}: ${text.slice(0, 80)}`),
  );
  assert.deepEqual(strange, []);
});

test('no page tells to run a bare `spine`, which a clone does not have', () => {
  const bare = PAGES.flatMap((page) =>
    blocksOf(page)
      .filter(({ language }) => ['bash', 'sh', 'console', 'text'].includes(language))
      .flatMap(({ text }) => text.split('\n'))
      .filter((line) => /^(\$ )?spine |\| spine /.test(line))
      .map((line) => `${page}: ${line}`),
  );
  assert.deepEqual(bare, []);
});

test('every promise names what shows it, and that is there', () => {
  const promises = readFileSync(join(REPO, GUIDES, 'guarantees.md'), 'utf8')
    .split('\n')
    .filter((line) => /^\| (?!promise \|)/.test(line));
  assert.ok(promises.length >= 60, `${promises.length} promises`);
  const unshown = promises.filter((line) => {
    const places = shownBy(line);
    return places.length === 0 || !places.every((place) => existsSync(join(REPO, place)));
  });
  assert.deepEqual(unshown, []);
});

/** The files behind what the last column of a row names: tests, proofs, and the check that is CI. */
function shownBy(row: string): string[] {
  const named = [...(row.split(' | ').at(-1) ?? '').matchAll(/`([^`]+)`/g)].map(([, name = '']) => name);
  return named.map((name) =>
    name.replace(/^npm run proof -- (.+)$/, 'proof/$1.ts').replace(/^npm run check$/, 'package.json'),
  );
}

/** It runs everything that the pages print: a dozen seconds on a quiet machine, more than a minute on a busy one. */
const ALL_PAGES = { timeout: 240_000 };

test('what the pages print works in a fresh clone, one after another', ALL_PAGES, async (t) => {
  const clone = freshClone();
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const env = {
    // As outside of npm scripts: the system's own Node comes first.
    PATH: (process.env['PATH'] ?? '')
      .split(':')
      .filter((part) => !part.includes('node_modules'))
      .concat(dirname(process.execPath))
      .join(':'),
    HOME: clone,
    SPINE_PORT: String(port),
    npm_config_update_notifier: 'false',
  };
  const { run, begin, says } = reader(t, { folder: clone, env, port });
  t.after(() => rmSync(clone, { recursive: true, force: true, maxRetries: 5 }));

  // What `npm ci` does beside installing.
  run('npm run prepare');
  const server = begin(blockOf('README.md', 'npm ci && npm start').replace('npm ci && ', 'exec '));
  await says('the server', server, /Create a job/);
  const [, curl = ''] = /^ {2}(curl .*)$/m.exec(blockOf('README.md', 'Spine is ready at')) ?? [];
  const { head = '' } = JSON.parse(readFileSync(join(clone, 'data/tokens.json'), 'utf8')) as {
    head?: string;
  };
  assert.match(run(curl.replace('9Hq3…', head)), /"no":1,/);
  assert.match(
    run(blockOf('README.md', 'npx spine jobs claim')),
    /#1 completed \(done\)[^]*result +It's done/,
  );
  assert.match(run(`curl -s ${url}/skill.md`), /jobs\/claim/);
  assert.match(run('npx openclaw-spine --version'), /^\d+\.\d+\.\d+\n$/);

  const worker = begin(blockOf('docs/guides/workers.md', 'export SPINE_BASE_URL'));
  await says('the producer', worker, /Job \S+ is queued/);
  run('npx spine jobs wait 2 --timeout 20s');
  await worker.end();
  const follower = begin(`SPINE_BASE_URL=${url} SPINE_TOKEN=${head} node examples/events.mjs`);
  await says('the follower', follower, /job\.created \S+[^]*job\.completed/);
  await follower.end();
  for (const [page, file] of [
    ['docs/guides/events.md', 'examples/events.mjs'],
    ['docs/guides/workers.md', 'examples/worker.mjs'],
    ['docs/guides/workers.md', 'examples/enqueue.mjs'],
    ['docs/guides/scheduler.md', 'examples/schedules/nightly.yaml'],
  ] as const)
    assert.ok(
      blocksOf(page).some(({ text }) => text === readFileSync(join(REPO, file), 'utf8')),
      file,
    );

  const backups = 'docs/guides/files-and-backups.md';
  const made =
    /^Made the snapshot \S+ in \S+\/backups\/scheduler: 2 jobs \(\S+ KiB\), \d artifacts? \(\d+ bytes\); read back and checked\.\n$/;
  assert.match(run(blockOf(backups, 'npx spine backup snapshot')), made);
  assert.match(blockOf(backups, 'Made the snapshot'), made);
  await server.end();
  assert.match(
    run(blockOf(backups, 'npx spine backup restore')),
    /^Restored the snapshot \S+ \((now|\S+ ago)\) from \S+ into restored: 2 jobs/,
  );
  assert.match(run(blockOf('docs/guides/files-and-backups.md', 'npx spine rebuild')), /2 jobs/);
});
