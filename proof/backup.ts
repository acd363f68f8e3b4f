import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { S3Client } from '@bradenmacdonald/s3-lite-client';
import { backup, begin, byHand, type Env, Load, restored } from '../test/backup/live.ts';
import { startSwift } from '../test/support/s3/swift.ts';
import { startServer, type TestServer } from '../test/support/server.ts';
import { seeded } from './random.ts';
import { type ProofReport, report } from './report.ts';

export interface BackupOptions {
  /** Of these every other one is killed on its way. */
  readonly snapshots: number;
  readonly seed: number;
}

const BUCKET = 'proof';
/** So much that the database goes up in several parts. */
const LARGE_JOBS = 400;
const LARGE_CHARS = 50_000;
/** Names of backups tell seconds apart. */
const APART_MS = 1_100;

interface Made {
  readonly name: string;
  readonly atLeast: number;
  readonly atMost: number;
}

/** Backs a server up to a real S3 server under 200 writes a second, while uploads are killed; every backup must restore. */
export async function proveBackup({ snapshots, seed }: BackupOptions): Promise<ProofReport> {
  const startedMs = performance.now();
  const random = seeded(seed);
  const { stop, ...s3 } = await startSwift();
  const folder = await mkdtemp(path.join(tmpdir(), 'spine-proof-backup-'));
  try {
    const place = await placeAt(s3);
    await using server = await startServer();
    await fill(server);
    const load = new Load(server);
    const made: Made[] = [];
    const violations: string[] = [];
    let usualMs = 2_000;
    let killed = 0;
    for (let n = 0; n < snapshots; n++) {
      await sleep(APART_MS);
      const beganMs = performance.now();
      if (n % 2 === 1) {
        killed += (await killedOnItsWay(server, place, random.int(usualMs))) ? 1 : 0;
        violations.push(...(await missing(place, made)));
        continue;
      }
      const atLeast = LARGE_JOBS + load.acknowledged;
      const { name } = await byHand(server, place);
      made.push({ name, atLeast, atMost: LARGE_JOBS + load.begun });
      usualMs = performance.now() - beganMs;
    }
    await load.end();
    const writes = load.acknowledged;
    await server.kill('SIGKILL');
    for (const one of made) violations.push(...(await wrongIn(place, one, folder)));
    return report({
      proof: 'backup',
      store: 'sqlite',
      startedMs,
      summary: `${made.length} snapshots during ${writes} writes, ${killed} uploads killed, each restored to one moment; seed ${seed}`,
      counts: { snapshots: made.length, killed, writes, usualMs: Math.round(usualMs), seed },
      violations,
    });
  } finally {
    await rm(folder, { recursive: true, force: true });
    await stop();
  }
}

async function placeAt(s3: { endpoint: string; accessKey: string; secretKey: string }): Promise<Env> {
  const { endpoint, accessKey, secretKey } = s3;
  const settings = { accessKey, secretKey, region: 'us-east-1', bucket: BUCKET };
  await new S3Client({ ...settings, endPoint: endpoint }).makeBucket(BUCKET);
  return {
    SCHEDULER_BACKUP_BUCKET: BUCKET,
    SPINE_BACKUP_ENDPOINT: endpoint,
    AWS_ACCESS_KEY_ID: accessKey,
    AWS_SECRET_ACCESS_KEY: secretKey,
  };
}

async function fill({ head }: TestServer): Promise<void> {
  const spec = 'x'.repeat(LARGE_CHARS);
  for (let n = 0; n < LARGE_JOBS; n++) await head.post('/jobs', { title: `large ${n}`, spec });
}

/** Whether it was still on its way. */
async function killedOnItsWay(server: TestServer, place: Env, afterMs: number): Promise<boolean> {
  const child = begin(['snapshot', '--data-dir', server.dataDir], place);
  await sleep(afterMs);
  const wasUnderWay = child.exitCode === null;
  child.kill('SIGKILL');
  await child.ran;
  return wasUnderWay;
}

async function missing(place: Env, made: readonly Made[]): Promise<string[]> {
  const { stdout } = await backup(['list', '--json'], place);
  const names = new Set((JSON.parse(stdout) as { name: string }[]).map(({ name }) => name));
  return made
    .filter(({ name }) => !names.has(name))
    .map(({ name }) => `${name} is gone after a killed upload`);
}

async function wrongIn(place: Env, { name, atLeast, atMost }: Made, folder: string): Promise<string[]> {
  const { faults, jobs } = await restored(place, name, folder);
  const isMoment = jobs >= atLeast && jobs <= atMost;
  const wrong = isMoment ? [] : [`it holds ${jobs} jobs, and ${atLeast} to ${atMost} were there`];
  await rm(path.join(folder, name.replace('/', '-')), { recursive: true, force: true });
  return [...faults, ...wrong].map((fault) => `${name}: ${fault}`);
}
