/**
 * Plants the listed bugs one at a time and runs the tests that should see each: npm run mutants -- [parts of names…].
 * Fails when a bug lives, when it has no place any more, and when a test fails without any bug.
 */

import { readFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { startPostgres } from '../support/postgres.ts';
import { ALL } from './all.ts';
import { type Copy, copySources, ROOT } from './copy.ts';
import { type Mutant, planted } from './mutant.ts';
import { runTests, selectionsOf } from './tests.ts';

const wanted = process.argv.slice(2);
const chosen = ALL.filter(({ name }) => wanted.length === 0 || wanted.some((part) => name.includes(part)));
if (chosen.length === 0) stop(`No mutant has ${wanted.join(' or ')} in its name.`);
for (const mutant of chosen) {
  try {
    planted(await readFile(join(ROOT, mutant.file), 'utf8'), mutant);
  } catch (error) {
    stop(error instanceof Error ? error.message : String(error));
  }
}

const startedMs = performance.now();
const own = process.env['TEST_POSTGRES_URL'] ? null : await startPostgres({ durable: false });
const postgresUrl = own?.url ?? process.env['TEST_POSTGRES_URL'] ?? '';
try {
  const sound = await onCopies(selectionsOf(chosen), async (copy, selection) => {
    const { passed, output } = await runTests(copy.folder, postgresUrl, selection, false);
    if (!passed) say(`FAILS WITHOUT A BUG: ${selection.files.join(' ')}\n${output}`);
    return passed;
  });
  const seen = await onCopies(chosen, (copy, mutant) => isSeen(copy, mutant));
  const score = seen.filter(Boolean).length;
  const failing = sound.filter((passed) => !passed).length;
  if (failing > 0) say(`${failing} test files fail without any bug, so what they see means nothing.`);
  say(`${score} of ${chosen.length} seen, in ${Math.round((performance.now() - startedMs) / 1000)} s.`);
  if (score < chosen.length || failing > 0) process.exitCode = 1;
} finally {
  await own?.stop();
}

async function isSeen(copy: Copy, mutant: Mutant): Promise<boolean> {
  const { name, means, file, seenBy, only } = mutant;
  const seen = await copy.plant(mutant, async () => {
    for (const test of seenBy) {
      const selection = { files: [test], only: only === undefined ? [] : [only] };
      if (!(await runTests(copy.folder, postgresUrl, selection, true)).passed) return true;
    }
    return false;
  });
  say(seen ? `seen  ${name}` : `LIVES ${name}: ${means} (${file})`);
  return seen;
}

/** Works through the list on as many copies as there are cores, and answers in the order of the list. */
async function onCopies<T>(
  items: readonly T[],
  work: (copy: Copy, item: T) => Promise<boolean>,
): Promise<boolean[]> {
  const answers: boolean[] = [];
  let next = 0;
  const workers = Array.from({ length: Math.min(availableParallelism(), items.length) }, async () => {
    await using copy = await copySources();
    for (let i = next++; i < items.length; i = next++) answers[i] = await work(copy, items[i] as T);
  });
  await Promise.all(workers);
  return answers;
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

function stop(message: string): never {
  process.stderr.write(`${message}\n`);
  process.exit(1);
}
