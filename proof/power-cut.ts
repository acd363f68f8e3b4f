import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { startServer } from '../test/support/server.ts';
import { check } from './power-cut/check.ts';
import { Disk, type Fate } from './power-cut/disk.ts';
import { type Promised, work } from './power-cut/load.ts';
import { BUGS, plant } from './power-cut/planted.ts';
import { Recording } from './power-cut/record.ts';
import { compileShim } from './power-cut/shim.ts';
import { type Random, seeded } from './random.ts';
import { type ProofReport, report } from './report.ts';

export interface PowerCutOptions {
  readonly cuts: number;
  readonly seed: number;
  /** Whether to see that planted bugs are found. */
  readonly planted: boolean;
}

/** Cuts into one recorded run; each starts a server on what was left. */
const CUTS_A_RUN = 20;
/** Until it is seen: a cut that finds everything on the disk shows nothing. */
const CUTS_FOR_A_BUG = 20;
const FATES: readonly Fate[] = ['lost', 'torn', 'torn', 'lost', 'torn', 'kept'];

/** Cuts the power at any moment: synced bytes stay, all others are lost, kept or torn. Gives the reason when it cannot. */
export async function provePowerCut(options: PowerCutOptions): Promise<ProofReport | string> {
  const startedMs = performance.now();
  const folder = mkdtempSync(path.join(tmpdir(), 'spine-power-cut-'));
  try {
    const shim = path.join(folder, 'shim.so');
    const reason = compileShim(shim);
    if (reason !== null) return reason;
    const random = seeded(options.seed);
    const violations: string[] = [];
    let promised = 0;
    let cuts = 0;
    while (cuts < options.cuts) {
      const run = { folder, shim, random, cuts: Math.min(CUTS_A_RUN, options.cuts - cuts) };
      const found = await cutAgainAndAgain(run);
      promised += found.promised;
      cuts += run.cuts;
      violations.push(...found.violations);
    }
    const seen = options.planted ? await findBugs({ folder, shim, random }, violations) : 0;
    return report({
      proof: 'power-cut',
      store: 'sqlite',
      summary: `${cuts} cuts, ${promised} promises looked up after them, ${seen} planted bugs seen, seed ${options.seed}`,
      counts: { cuts, promised, seen },
      violations,
      startedMs,
    });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

interface Run {
  readonly folder: string;
  readonly shim: string;
  readonly random: Random;
  readonly cuts: number;
  readonly entry?: string;
}

/** A harness that finds nothing may be blind. */
async function findBugs(run: Omit<Run, 'cuts'>, violations: string[]): Promise<number> {
  let seen = 0;
  for (const bug of BUGS) {
    const sources = path.join(run.folder, `planted-${seen}`);
    mkdirSync(sources);
    const found = await cutAgainAndAgain({ ...run, cuts: CUTS_FOR_A_BUG, entry: plant(bug, sources) });
    if (found.violations.length > 0) seen++;
    else violations.push(`${bug.name} was planted and not seen`);
    rmSync(sources, { recursive: true });
  }
  return seen;
}

async function cutAgainAndAgain(run: Run): Promise<{ promised: number; violations: string[] }> {
  const { folder, random, cuts, entry } = run;
  const recording = path.join(folder, 'recording');
  const dir = path.join(folder, 'data');
  const left = path.join(folder, 'left');
  rmSync(recording, { force: true });
  rmSync(dir, { recursive: true, force: true });
  mkdirSync(dir);
  const ledger = await record(run, dir, recording);
  const played = new Recording(recording);
  const disk = new Disk(dir);
  const first = ledger[0]?.place ?? 0;
  const places = Array.from({ length: cuts }, () => first + random.int(played.length - first));
  const violations: string[] = [];
  let promised = 0;
  for (const [n, place] of places.toSorted((a, b) => a - b).entries()) {
    const cutAt = played.playTo(place, disk);
    const fate = FATES[n % FATES.length] as Fate;
    disk.leave(left, fate, random);
    const kept = ledger.filter((entry) => entry.place <= cutAt);
    promised += kept.length;
    const wrong = await check(left, kept, entry);
    violations.push(...wrong.map((what) => `${what} (cut ${n} at ${cutAt}, unsynced bytes ${fate})`));
    rmSync(left, { recursive: true });
    if (entry !== undefined && violations.length > 0) break;
  }
  return { promised, violations };
}

async function record({ shim, random, entry }: Run, dir: string, recording: string): Promise<Promised[]> {
  await using server = await startServer({
    dataDir: dir,
    logLevel: 'error',
    env: { LD_PRELOAD: shim, PCUT_DIR: dir, PCUT_LOG: recording, UV_USE_IO_URING: '0' },
    ...(entry && { entry }),
  });
  const ledger = await work({ server, recording, callers: 6, jobsEach: 40, random });
  await server.kill('SIGKILL');
  return ledger;
}
