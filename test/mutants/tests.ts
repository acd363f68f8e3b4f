/** Runs some test files in a copy and says whether they passed. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Mutant } from './mutant.ts';

/** A planted bug may make a test wait for ever; that counts as seen. */
const TEST_LIMIT_MS = 60_000;
const RUN_LIMIT_MS = 180_000;
const KEPT_OUTPUT_CHARS = 20_000;
const FAILED_TEST = /^ *not ok /m;

/** Which tests to run: files, and patterns of names when not all tests of them. */
export interface Selection {
  readonly files: readonly string[];
  readonly only: readonly string[];
}

export interface Outcome {
  readonly passed: boolean;
  readonly output: string;
}

/** Groups of their own do not hear of the end of this process. A planted bug may make one of them turn for ever. */
const running = new Set<number | undefined>();
process.once('exit', () => running.forEach(endGroup));
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => process.exit(1));

/** Where `stopAtFailure` is set, the first test that fails ends the run. */
export async function runTests(
  folder: string,
  postgresUrl: string,
  selection: Selection,
  stopAtFailure: boolean,
): Promise<Outcome> {
  // What an ended run leaves behind goes with the copy.
  const temp = join(folder, 'tmp');
  await mkdir(temp, { recursive: true });
  const args = [
    '--test',
    '--test-concurrency=1',
    '--test-reporter=tap',
    `--test-timeout=${TEST_LIMIT_MS}`,
    ...selection.only.map((pattern) => `--test-name-pattern=${pattern}`),
    ...selection.files,
  ];
  // A group of its own: servers that a broken test leaves behind end with it.
  const child = spawn(process.execPath, args, {
    cwd: folder,
    env: { ...process.env, TEST_POSTGRES_URL: postgresUrl, TMPDIR: temp },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  running.add(child.pid);
  let output = '';
  const keep = (chunk: Buffer): void => {
    output = (output + chunk.toString()).slice(-KEPT_OUTPUT_CHARS);
    if (stopAtFailure && FAILED_TEST.test(output)) endGroup(child.pid);
  };
  child.stdout.on('data', keep);
  child.stderr.on('data', keep);
  const limit = setTimeout(() => endGroup(child.pid), RUN_LIMIT_MS);
  await once(child, 'exit');
  clearTimeout(limit);
  endGroup(child.pid);
  running.delete(child.pid);
  return { passed: child.exitCode === 0, output };
}

function endGroup(leader: number | undefined): void {
  if (leader === undefined) return;
  try {
    process.kill(-leader, 'SIGKILL');
  } catch (error) {
    // Nothing is left of it.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/** Every file that is named, once, with all that is to be run of it. */
export function selectionsOf(mutants: readonly Mutant[]): Selection[] {
  const files = new Set(mutants.flatMap(({ seenBy }) => seenBy));
  return [...files].map((file) => {
    const users = mutants.filter(({ seenBy }) => seenBy.includes(file));
    const whole = users.some(({ only }) => only === undefined);
    const only = new Set(users.flatMap(({ only }) => only ?? []));
    return { files: [file], only: whole ? [] : [...only] };
  });
}
