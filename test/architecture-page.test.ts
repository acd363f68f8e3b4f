import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import type { JobCommand } from '../src/domain/command.ts';
import { decide } from '../src/domain/decide.ts';
import { FINAL_STATES, type Job, STATES } from '../src/domain/job.ts';
import { claimBy, command, HEAD, HOLDER, jobIn, KINDS, NOW, SYSTEM } from './domain/fixtures.ts';

const REPO = join(import.meta.dirname, '..');
const PAGE = 'docs/architecture.md';
const page = readFileSync(join(REPO, PAGE), 'utf8');

const OURS = /^(src|test|docs|scripts|bench|proof|examples|bin)(\/|$)/;
const QUOTED = /`([^`\s]+)`/g;

/** Paths as the page writes them: quoted, in its picture, and in links from where it lies. */
function paths(): string[] {
  const quoted = [...page.matchAll(QUOTED)].flatMap(([, path = '']) => (OURS.test(path) ? path : []));
  const drawn = page.replaceAll(QUOTED, '').match(/\bsrc\/[\w./-]*\w/g) ?? [];
  const links = [...page.matchAll(/\]\(([^)#:]+)(?:#[^)]*)?\)/g)];
  return [...new Set([...quoted, ...drawn, ...links.map(([, path = '']) => join(dirname(PAGE), path))])];
}

test('every file and folder that the page on the architecture names is there', () => {
  const named = paths();
  assert.ok(named.length > 50, `found only ${named.length} paths: the reading of the page is broken`);
  const missing = named.filter((path) =>
    path.includes('*') ? globSync(path, { cwd: REPO }).length === 0 : !existsSync(join(REPO, path)),
  );
  assert.deepEqual(missing, []);
});

const [, section = ''] = /^## The ten states\n([^]*?)^## /m.exec(page) ?? [];
const drawn = [...section.matchAll(/^ {2}(\S+) --> (\w+):/gm)].map(([, from, to]) => `${from} ${to}`);

test('the page on the architecture tells of the ten states, says which are final, and draws no other', () => {
  const rows = [...section.matchAll(/^\| `(\w+)` \|.*\| (yes )?\|$/gm)];
  assert.deepEqual(rows.map(([, state = '']) => state).toSorted(), STATES.toSorted());
  const final = rows.filter(([, , word]) => word !== undefined).map(([, state = '']) => state);
  assert.deepEqual(final.toSorted(), FINAL_STATES.toSorted());
  const named = new Set(drawn.flatMap((move) => move.split(' ')));
  assert.deepEqual([...named].toSorted(), ['[*]', ...STATES].toSorted());
});

const VARIANTS: readonly Partial<Job>[] = [
  {},
  { backoffMs: 1_000 },
  { cancelRequested: true },
  { attempts: 5, maxAttempts: 5 },
  { retryMode: 'lineage', retryMax: 3 },
  { approval: 'needed' },
  { runAt: NOW },
  { runAt: NOW, approval: 'needed' },
  { leaseUntil: NOW - 1, timeoutAt: NOW - 1 },
  { leaseUntil: NOW - 1, timeoutAt: NOW - 1, attempts: 5, maxAttempts: 5 },
  { startBefore: NOW },
];

/** By a person, while nobody holds the job: to another time. */
const RESCHEDULED = [NOW, NOW + 1_000].map((runAt) => ({
  ...command('reword', HEAD),
  asked: { runAt },
  waiting: true,
})) as JobCommand[];

/** Every change of state that a command makes, but for those that the page puts in words. */
function moves(): Set<string> {
  const found = new Set<string>();
  for (const state of STATES)
    for (const variant of VARIANTS.filter(({ approval }) => state !== 'queued' || approval !== 'needed'))
      for (const kind of KINDS.filter((each) => each !== 'cancel'))
        for (const actor of [HEAD, HOLDER, SYSTEM]) {
          // Nobody has had it yet, unless somebody has it now.
          const job = jobIn(state, { ...variant, ...(state !== 'running' && { fence: 0 }) });
          const token = actor === HOLDER ? job.leaseToken : null;
          const made = kind === 'claim' ? claimBy(actor) : command(kind, actor, token);
          const isReopened = kind === 'retry' || kind === 'redrive';
          for (const one of kind === 'reword' ? [made, ...RESCHEDULED] : [made]) {
            const to = decide(job, one, NOW + 1).job.state;
            if (to !== state && !(isReopened && to !== 'queued')) found.add(`${state} ${to}`);
          }
        }
  return found;
}

test('the page on the architecture draws every move that a command makes, and none that no command makes', () => {
  const made = moves();
  assert.deepEqual(
    [...made].filter((move) => !drawn.includes(move)),
    [],
  );
  // These are made where more than one job is looked at: dependents, pools, approvals.
  const byEngine = /^(\[\*\]|blocked|awaiting_approval) |^queued blocked$/;
  assert.deepEqual(
    drawn.filter((move) => !byEngine.test(move) && !made.has(move)),
    [],
  );
});
