import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { BackupAnswer, BackupManifest } from '../../src/cli/host.ts';
import { spine } from './support.ts';

const MANIFEST: BackupManifest = {
  kind: 'rollup',
  name: '2026-11-17/02-05-33',
  identity: 'us',
  version: '0.1.0',
  at: Date.UTC(2026, 10, 17, 2, 5, 33),
  jobs: 1,
  database: { size: 1, sha256: '' },
  journal: [{ size: 1 }],
  artifacts: { count: 2, bytes: 2 },
  objects: null,
  lost: { count: 0, ids: [] },
};

const RESTORED = {
  place: '/b',
  manifest: MANIFEST,
  skipped: [],
  asides: [],
  artifacts: 2,
  objects: 0,
  lost: [],
  journal: true,
};

const answering = (answer: BackupAnswer) => ({ backup: async () => answer });

test('pieces that had changed in the storage are told when a rollup is made [SC-75]', async () => {
  const made = [{ place: '/b', manifest: MANIFEST, uploadedBytes: 2, changed: 2, removed: 0 }];
  const buckets = { artifacts: null, taskData: null };
  const ran = await spine(
    ['backup', 'rollup'],
    answering({ verb: 'rollup', made, onPostgres: false, buckets }),
  );
  assert.equal(ran.code, 0);
  assert.match(ran.stderr, /2 pieces in \/b had changed since they were stored/);
});

test('a restore without its journal says so, and who writes it anew [SC-75]', async () => {
  const restored = { ...RESTORED, journal: false };
  const ran = await spine(
    ['backup', 'restore'],
    answering({ verb: 'restore', restored, dataDir: '/d', onPostgres: false }),
  );
  assert.equal(ran.code, 0);
  assert.match(ran.stderr, /The journal could not be brought back whole, [^\n]+ anew/);
});

test('a restore that could not bring all files back exits with 1, and all else is restored [SC-75]', async () => {
  const restored = { ...RESTORED, artifacts: 1, lost: ['some-id'] };
  const answer = answering({ verb: 'restore', restored, dataDir: '/d', onPostgres: false });
  const ran = await spine(['backup', 'restore'], answer);
  assert.equal(ran.code, 1);
  assert.match(ran.stderr, /1 file could not be brought back: some-id\./);
  assert.match(ran.stdout, /^Restored the rollup /);
  const { stdout } = await spine(['backup', 'restore', '--json'], answer);
  assert.equal((JSON.parse(stdout) as { ok: boolean }).ok, false);
});

test('status has trouble with a newest backup that lacks files, and exits with 1 [SC-75]', async () => {
  const newest = { ...MANIFEST, lost: { count: 2, ids: ['one', 'two'] } };
  const place = { place: '/b', snapshots: 1, rollups: 1, bytes: 1, newest, error: null };
  const status = {
    enabled: true,
    everyMs: 300_000,
    lastTryAt: MANIFEST.at,
    lastSnapshotAt: MANIFEST.at,
    lastRollupAt: MANIFEST.at,
    lastError: null,
    places: [place],
  };
  const ran = await spine(['backup', 'status'], answering({ verb: 'status', status }));
  assert.equal(ran.code, 1);
  assert.match(ran.stdout, /\ntrouble +2 files could not be read as stored, [^\n]+: one, two\.\n$/);
});
