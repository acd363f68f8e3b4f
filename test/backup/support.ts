import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { createHash, randomUUID } from 'node:crypto';
import { deepCheck } from '../../src/app/deep-check.ts';
import { folderPlace } from '../../src/backup/folder.ts';
import type { Kind } from '../../src/backup/names.ts';
import type { Place } from '../../src/backup/place.ts';
import { type RestoreOptions, type Restored, restoreNewest } from '../../src/backup/restore.ts';
import { type Installation, type Made, make } from '../../src/backup/run.ts';
import { openDiskBlobs } from '../../src/blobs/disk.ts';
import { loadConfig } from '../../src/config.ts';
import { diskObjects } from '../../src/objects/disk.ts';
import { type Bench, HEAD, LEFT, openBench } from '../files/fixture.ts';
import { writeAll } from '../import/rebuilding.ts';

export const HOUR_MS = 3_600_000;
export const NOW = Date.UTC(2026, 10, 17, 2, 5, 33);

export interface Shop extends AsyncDisposable {
  readonly bench: Bench;
  readonly place: Place;
  readonly installation: Installation;
  /** Where new data dirs can be made. */
  readonly folder: string;
  addJob(title?: string): Promise<void>;
  addArtifact(text: string): Promise<string>;
  /** What a bot collected for a job of its own: the key of the object. */
  addBatch(text: string): Promise<string>;
  make(at?: number, kind?: Kind): Promise<Made>;
  /** Into a folder of its own, unless said. */
  restore(request?: Partial<RestoreOptions>): Promise<Restored & { readonly dir: string }>;
}

/** An installation with a job, an artifact and a journal, and a folder for its backups. */
export async function openShop(): Promise<Shop> {
  const folder = await mkdtemp(join(tmpdir(), 'spine-backup-'));
  const dataDir = join(folder, 'data');
  await mkdir(dataDir);
  const bench = openBench(dataDir);
  const blobs = await openDiskBlobs({
    folder: join(dataDir, 'blobs'),
    newId: randomUUID,
    now: () => bench.clock.now(),
  });
  const place = folderPlace(join(folder, 'backups'), 'scheduler');
  const retention = { snapshotMs: 24 * HOUR_MS, rollupMs: 7 * 24 * HOUR_MS };
  const objectFolder = join(dataDir, 'objects');
  const objects = diskObjects(objectFolder, 'worker-data');
  const installation = {
    dataDir,
    postgresUrl: null,
    blobFolder: join(dataDir, 'blobs'),
    objectFolder,
    version: '0.1.0',
    retention,
    counts: true,
  };
  let restores = 0;
  const shop: Shop = {
    bench,
    place,
    installation,
    folder,
    addJob: async (title = 'job') => {
      await bench.engine.jobs.create(HEAD, [{ target: 'any', title }]);
      await writeAll(bench);
    },
    addArtifact: async (text) => {
      const stored = await blobs.put(Readable.from([Buffer.from(text)]), 1e6);
      const { id, size, sha256 } = stored;
      await bench.engine.blobs.save(HEAD, {
        id,
        size,
        sha256,
        filename: 'f.txt',
        contentType: 'text/plain',
      });
      return id;
    },
    addBatch: async (text) => {
      const { engine } = bench;
      const { jobs } = await engine.jobs.create(HEAD, [{ target: 'left-claw', title: text }]);
      const { job } = await engine.leases.claim(LEFT, jobs[0]?.id ?? '');
      await writeAll(bench);
      const key = engine.taskData.newKey(objects.dataPrefix, job, 'posts');
      const bytes = Buffer.from(JSON.stringify({ items: [{ data: text }] }));
      const sha256 = createHash('sha256').update(bytes).digest('hex');
      const batch = { key, dataType: 'posts', items: 1, size: bytes.length, sha256 };
      await engine.taskData.announce(LEFT, job, batch);
      await objects.put(key, bytes);
      await engine.taskData.record(LEFT, job, batch, { externalIds: [], tickers: [] });
      return key;
    },
    make: async (at = NOW, kind = 'snapshot') => {
      const [made] = await make(installation, [place], kind, at);
      if (made === undefined) throw new Error('nothing was made');
      return made;
    },
    restore: async (request = {}) => {
      const dir = request.dataDir ?? join(folder, `restored-${++restores}`);
      const options = {
        places: [place],
        blobFolder: join(dir, 'blobs'),
        objectFolder: join(dir, 'objects'),
        onPostgres: false,
        force: false,
        name: null,
        ...request,
      };
      return { ...(await restoreNewest({ ...options, dataDir: dir })), dir };
    },
    async [Symbol.asyncDispose]() {
      await bench[Symbol.asyncDispose]();
      await rm(folder, { recursive: true, force: true });
    },
  };
  await shop.addJob('first');
  await shop.addArtifact('the first artifact');
  return shop;
}

/** What `spine doctor --deep` finds wrong with a data dir. */
export async function faultsOf(dataDir: string): Promise<readonly string[]> {
  const found = await deepCheck(loadConfig({}, { dataDir }));
  return found.filter(({ status }) => status !== 'pass').map(({ check, message }) => `${check}: ${message}`);
}

/** All files below, by their names from there. */
export function filesIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
    .toSorted();
}

export function flipBit(file: string, at = 0.5): void {
  const bytes = readFileSync(file);
  const index = Math.floor(bytes.length * at);
  bytes[index] = (bytes[index] ?? 0) ^ 1;
  writeFileSync(file, bytes);
}
