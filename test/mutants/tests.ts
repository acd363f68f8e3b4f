/** Runs some test files in a copy and says whether they passed. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Mutant } from './mutant.ts';

/** A planted bug may make a test wait for ever; that counts as seen. */
const TEST_LIMIT_MS = 60_000;
const RUN_LIMIT_MS = 180_000;
const KEPT_OUTPUT_CHARS = 20_000;

/** Which tests to run: files, and patterns of names when not all tests of them. */
export interface Selection {
  readonly files: readonly string[];
  readonly only: readonly string[];
}

export interface Outcome {
  readonly passed: boolean;
  readonly output: string;
}

export async function runTests(folder: string, postgresUrl: string, selection: Selection): Promise<Outcome> {
  const args = [
    '--test',
    '--test-concurrency=1',
    '--test-reporter=dot',
    `--test-timeout=${TEST_LIMIT_MS}`,
    ...selection.only.map((pattern) => `--test-name-pattern=${pattern}`),
    ...selection.files,
  ];
  // A group of its own: servers that a broken test leaves behind end with it.
  const child = spawn(process.execPath, args, {
    cwd: folder,
    env: { ...process.env, TEST_POSTGRES_URL: postgresUrl },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  let output = '';
  const keep = (chunk: Buffer): void => {
    output = (output + chunk.toString()).slice(-KEPT_OUTPUT_CHARS);
  };
  child.stdout.on('data', keep);
  child.stderr.on('data', keep);
  const limit = setTimeout(() => endGroup(child.pid), RUN_LIMIT_MS);
  await once(child, 'exit');
  clearTimeout(limit);
  endGroup(child.pid);
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
