/** One entrant measured once: a fresh process of the checkout that is measured, in an empty place. */

import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { freshDatabase } from '../test/support/postgres.ts';
import type { Bench, Entrant } from './bench.ts';
import type { Measured } from './phase.ts';

/** Far above the slowest phase. */
const PHASE_LIMIT_MS = 180_000;
const REASON_CHARS = 2_000;
const HERE = join(import.meta.dirname, '..');

const execute = promisify(execFile);

/**
 * The checkout may be an older one, so what passes between this and its `bench/phase.ts` stays as it is: the phase and
 * the place as one argument of JSON, and what was measured as one line of JSON.
 */
export async function measureEntrant(
  postgresUrl: string,
  bench: Bench,
  entrant: Entrant,
  checkout = HERE,
): Promise<Measured> {
  const folder = await mkdtemp(join(tmpdir(), 'spine-bench-'));
  const database = bench.store === 'postgres' ? await freshDatabase(postgresUrl) : null;
  try {
    const task = JSON.stringify({ phase: entrant.phase, place: { folder, url: database?.url ?? null } });
    const { stdout, stderr } = await execute(process.execPath, [join(checkout, 'bench/phase.ts'), task], {
      cwd: checkout,
      timeout: PHASE_LIMIT_MS,
    });
    process.stderr.write(stderr);
    return JSON.parse(stdout) as Measured;
  } catch (error) {
    return { rates: {}, problem: reason(error) };
  } finally {
    await database?.drop();
    await rm(folder, { recursive: true, force: true });
  }
}

/** What the process said before it ended; its command line says nothing to a reader. */
function reason(error: unknown): string {
  const stderr = error instanceof Error && 'stderr' in error ? String(error.stderr).trim() : '';
  return (stderr || String(error)).slice(0, REASON_CHARS);
}
