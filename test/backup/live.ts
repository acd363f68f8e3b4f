/** A server that is written to, and the commands that back it up, as processes of their own. */

import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { destinationsOf, openPlace } from '../../src/backup/destination.ts';
import { type RestoreOptions, restoreNewest } from '../../src/backup/restore.ts';
import { readState } from '../../src/backup/state.ts';
import { loadConfig } from '../../src/config.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { eventually } from '../scheduler/support.ts';
import { startServer, type TestServer } from '../support/server.ts';
import { faultsOf } from './support.ts';

export interface Ran {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export type Env = Readonly<Record<string, string>>;

export function begin(
  args: readonly string[],
  env: Env,
  bin = 'spine',
): ChildProcess & { ran: Promise<Ran> } {
  const entry = join(import.meta.dirname, `../../bin/${bin}.cjs`);
  const { PATH, HOME } = process.env;
  const child = spawn(process.execPath, [entry, 'backup', ...args], {
    env: { PATH, HOME, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const said = { stdout: '', stderr: '' };
  child.stdout.setEncoding('utf8').on('data', (text: string) => (said.stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (said.stderr += text));
  const ran = new Promise<Ran>((resolve) => child.once('close', (code) => resolve({ code, ...said })));
  return Object.assign(child, { ran });
}

/** Runs `spine backup …`. */
export const backup = (args: readonly string[], env: Env = {}): Promise<Ran> => begin(args, env).ran;

export function tempFolder(t: { after(task: () => void): void }): string {
  const folder = mkdtempSync(join(tmpdir(), 'spine-live-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

const WRITES_PER_S = 200;

/** 200 jobs in a second, and an artifact with every hundredth. */
export class Load {
  /** Jobs that it was asked to make. */
  begun = 0;
  /** Jobs that the server has acknowledged. */
  acknowledged = 0;
  readonly #server: TestServer;
  readonly #calls = new Set<Promise<void>>();
  #isOver = false;
  readonly #running: Promise<void>;

  constructor(server: TestServer) {
    this.#server = server;
    this.#running = this.#run();
  }

  async end(): Promise<void> {
    this.#isOver = true;
    await this.#running;
    await Promise.all(this.#calls);
  }

  async #run(): Promise<void> {
    const startedAt = performance.now();
    for (let n = 0; !this.#isOver; n++) {
      const call = this.#write(n).finally(() => this.#calls.delete(call));
      this.#calls.add(call);
      const earlyMs = (n * 1_000) / WRITES_PER_S - (performance.now() - startedAt);
      if (earlyMs > 0) await sleep(earlyMs);
    }
  }

  async #write(n: number): Promise<void> {
    const { head, url, tokens } = this.#server;
    if (n % 100 === 0) {
      const body = new FormData();
      body.append('file', new Blob([`artifact ${n} `.repeat(1 + (n % 500))]), `${n}.txt`);
      const headers = { authorization: `Bearer ${tokens.head}` };
      const { status } = await fetch(`${url}/blobs`, { method: 'POST', body, headers });
      assert.ok(status < 300, `${status}`);
    }
    this.begun++;
    const { status } = await head.post('/jobs', { title: `job ${n}`, spec: { n } });
    assert.ok(status < 300, `${status}`);
    this.acknowledged++;
  }
}

interface Moment {
  readonly name: string;
  readonly atLeast: number;
  readonly atMost: number;
}

/**
 * Backs a server up by hand and by itself while it is written to; then every backup is restored and must be one
 * committed moment, with its artifacts.
 */
export async function backsUpUnderLoad(
  t: { after(task: () => void): void },
  place: Env,
  byHandCount: number,
): Promise<void> {
  const folder = tempFolder(t);
  const env = { ...place, SCHEDULER_BACKUP_ENABLED: 'true', SCHEDULER_BACKUP_MS: '60000' };
  await using server = await startServer({ env });
  const load = new Load(server);
  const moments: Moment[] = [];
  // One made by hand before the server's own first one would put that off.
  await eventually(
    'the server has made one by itself',
    60_000,
    async () => (await readState(server.dataDir)).lastSnapshotAt,
  );
  for (let n = 0; n < byHandCount; n++) {
    const atLeast = load.acknowledged;
    const made = await byHand(server, place);
    // What is under way at the copy may be in it without having been acknowledged.
    moments.push({ ...made, atLeast, atMost: load.begun });
  }
  await load.end();
  await server.kill('SIGKILL');
  const listed = await backup(['list', '--json'], place);
  const entries = JSON.parse(listed.stdout) as { name: string; kind: string }[];
  const byServer = entries.find(({ name }) => moments.every((moment) => moment.name !== name));
  assert.ok(byServer !== undefined, 'one that the server made');
  for (const name of [byServer.name, ...moments.map((moment) => moment.name)]) {
    const { faults, jobs } = await restored(place, name, folder);
    assert.deepEqual(faults, []);
    const { atLeast = 0, atMost = Infinity } = moments.find((moment) => moment.name === name) ?? {};
    assert.ok(jobs >= atLeast && jobs <= atMost, `${jobs} jobs in ${name}`);
  }
}

/** Restores a backup into a new place: what is wrong there, and how many jobs it holds. */
export async function restored(
  place: Env,
  name: string,
  folder: string,
): Promise<{ readonly faults: readonly string[]; readonly jobs: number }> {
  const dataDir = join(folder, name.replace('/', '-'));
  const folders = { blobFolder: join(dataDir, 'blobs'), objectFolder: join(dataDir, 'objects') };
  const where = { ...(await placesOf(place)), dataDir, ...folders };
  const { lost } = await restoreNewest({ ...where, name });
  const numbers = jobNumbers(dataDir);
  const isGapless = numbers.every((no, index) => no === index + 1);
  const faults = [...lost.map((one) => `lost: ${one}`), ...(await faultsOf(dataDir))];
  return { faults: isGapless ? faults : [...faults, 'a job is missing in between'], jobs: numbers.length };
}

async function placesOf(
  env: Env,
): Promise<Omit<RestoreOptions, 'dataDir' | 'blobFolder' | 'objectFolder' | 'name'>> {
  const clock = systemClock();
  const destinations = destinationsOf(loadConfig(env), null, '/nowhere');
  const places = await Promise.all(
    destinations.map((one) => openPlace(one, (delayMs, task) => clock.after(delayMs, task))),
  );
  return { places, onPostgres: false, force: false };
}

/** The server may be at it itself just then. */
export async function byHand(server: TestServer, place: Env): Promise<{ name: string }> {
  for (;;) {
    const made = await backup(['snapshot', '--json', '--data-dir', server.dataDir], place);
    if (made.code === 5) continue;
    assert.equal(made.code, 0, made.stdout + made.stderr);
    const answer = JSON.parse(made.stdout) as { made: { manifest: { name: string } }[] };
    return { name: answer.made[0]?.manifest.name ?? '' };
  }
}

function jobNumbers(dataDir: string): number[] {
  const database = new DatabaseSync(join(dataDir, 'spine.db'), { readOnly: true });
  try {
    return database
      .prepare('select no from job order by no')
      .all()
      .map((row) => Number(row['no']));
  } finally {
    database.close();
  }
}
