import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { type Destination, destinationsOf } from '../../src/backup/destination.ts';
import { loadConfig } from '../../src/config.ts';

const AWS = { AWS_ACCESS_KEY_ID: 'key', AWS_SECRET_ACCESS_KEY: 'secret' };

function destinations(
  env: Record<string, string>,
  to: string | null = null,
  home = '/nowhere',
): Destination[] {
  return destinationsOf(loadConfig(env), to, home);
}

function bucketOf([first]: Destination[]): object {
  assert.ok(first !== undefined && 'bucket' in first);
  return first.bucket;
}

test('a folder and a bucket are both used when both are named, under the prefix [SC-72 SC-91]', () => {
  const env = {
    ...AWS,
    SCHEDULER_BACKUP_DIR: '/backups',
    SCHEDULER_BACKUP_BUCKET: 'my-bucket',
    SCHEDULER_BACKUP_PREFIX: '/team/spine/',
  };
  const [folder, bucket] = destinations(env);
  assert.deepEqual(folder, { folder: '/backups', prefix: 'team/spine' });
  assert.deepEqual(bucket, {
    timeoutMs: 60_000,
    bucket: {
      endpoint: 'https://s3.us-east-1.amazonaws.com',
      region: 'us-east-1',
      bucket: 'my-bucket',
      prefix: 'team/spine',
      accessKey: 'key',
      secretKey: 'secret',
      sessionToken: null,
    },
  });
});

test('--to stands in for the settings [SC-72]', () => {
  assert.deepEqual(destinations({ SCHEDULER_BACKUP_DIR: '/a' }, '/b'), [
    { folder: '/b', prefix: 'scheduler' },
  ]);
  const there = bucketOf(destinations(AWS, 's3://box/some/where/'));
  assert.deepEqual(
    [{ ...there }].map((one) => one),
    [{ ...bucketOf(destinations(AWS, 's3://box')), prefix: 'some/where' }],
  );
  for (const wrong of ['', 'http://box/x', 's3://', 's3://b', 's3://box/../x', 's3://box/a//b'])
    assert.throws(
      () => destinations(AWS, wrong),
      { kind: 'usage', message: /^--to is not a folder or s3:/ },
      wrong,
    );
});

test('the file of the MinIO client gives address and keys of its alias [SC-72]', (t) => {
  const home = mkdtempSync(join(tmpdir(), 'spine-mc-'));
  t.after(() => rmSync(home, { recursive: true }));
  mkdirSync(join(home, '.mc'));
  const file = join(home, '.mc/config.json');
  const env = { SCHEDULER_BACKUP_BUCKET: 'box', SCHEDULER_BACKUP_MC_ALIAS: 'store' };
  const say = (text: string): void => writeFileSync(file, text);
  const refused = (what: RegExp): void =>
    assert.throws(() => destinations(env, null, home), { kind: 'settings', message: what });
  refused(/^SCHEDULER_BACKUP_MC_ALIAS=store: \S+config\.json cannot be read \(ENOENT\)\.$/);
  say('{');
  refused(/has no such alias\.$/);
  say('{"aliases": {"other": {}}}');
  refused(/has no such alias\.$/);
  say('{"aliases": {"store": {"url": "ftp://x"}}}');
  refused(/has no http:\/\/ or https:\/\/ url for it\.$/);
  say('{"aliases": {"store": {"url": "http://127.0.0.1:9000"}}}');
  refused(/has no keys for it\.$/);
  const entry = { url: 'http://127.0.0.1:9000', accessKey: 'a', secretKey: 's', api: 'S3v4', path: 'auto' };
  say(JSON.stringify({ version: '10', aliases: { store: entry } }));
  const expected = { endpoint: entry.url, accessKey: 'a', secretKey: 's', prefix: 'scheduler' };
  const found = bucketOf(destinations(env, null, home));
  assert.deepEqual({ ...found, ...expected }, found);
  const elsewhere = { ...env, MC_CONFIG_DIR: join(home, '.mc') };
  assert.deepEqual(bucketOf(destinations(elsewhere)), found);
});

test('nothing named, or no keys, is said in one line [SC-72]', () => {
  assert.throws(() => destinations({}), {
    kind: 'settings',
    message:
      'Nothing says where backups are: set SCHEDULER_BACKUP_DIR or SCHEDULER_BACKUP_BUCKET, or add --to.',
  });
  for (const keys of [{}, { AWS_ACCESS_KEY_ID: 'a' }, { AWS_ACCESS_KEY_ID: '', AWS_SECRET_ACCESS_KEY: '' }])
    assert.throws(() => destinations({ SCHEDULER_BACKUP_BUCKET: 'box', ...keys }), {
      kind: 'settings',
      message: /^No keys for the bucket: /,
    });
});
