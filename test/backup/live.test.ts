import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { once } from 'node:events';
import { test } from 'node:test';
import { eventually } from '../scheduler/support.ts';
import { freshDatabase, skipWithoutPostgres } from '../support/postgres.ts';
import { startServer } from '../support/server.ts';
import { addTask, claimed, expectData, peopled } from '../contracts/bot-cases.ts';
import { post } from '../contracts/bots-data.ts';
import { backsUpUnderLoad, backup, begin, tempFolder } from './live.ts';

test('every backup made under 200 writes a second restores to a committed moment with its artifacts [SC-15 SC-73 SC-75]', async (t) => {
  await backsUpUnderLoad(t, { SCHEDULER_BACKUP_DIR: tempFolder(t) }, 2);
});

test('a server makes no backups unless it is told to [SC-71]', async (t) => {
  const folder = tempFolder(t);
  const SCHEDULER_BACKUP_DIR = join(folder, 'backups');
  await using server = await startServer({ env: { SCHEDULER_BACKUP_DIR } });
  const { body } = await server.head.get<{ loops: { name: string }[] }>('/health/details');
  assert.equal(
    body.loops.some(({ name }) => name === 'backup'),
    false,
  );
  assert.equal(readdirSync(folder).length, 0);
});

test('a server that is to back up and cannot does not start, and says why [SC-71 SC-72]', async (t) => {
  const env = { SCHEDULER_BACKUP_ENABLED: 'true', SCHEDULER_BACKUP_BUCKET: 'some-box' };
  const dataDir = tempFolder(t);
  await assert.rejects(
    startServer({ dataDir, env }),
    /exit code 78[^]*spine: No keys for the bucket: set SCHEDULER_BACKUP_MC_ALIAS/,
  );
});

test('a restore is refused while the server runs, and tells where another one is needed [SC-75]', async (t) => {
  const place = { SCHEDULER_BACKUP_DIR: tempFolder(t) };
  await using server = await startServer();
  const dataDir = ['--data-dir', server.dataDir];
  assert.equal((await backup(['snapshot', ...dataDir], place)).code, 0);
  const refused = await backup(['restore', '--force', ...dataDir], place);
  assert.equal(refused.code, 78);
  assert.match(
    refused.stderr,
    /^spine: Another Spine server \(process \d+\) uses this data dir\. Stop it first[^\n]*\n$/,
  );
  await server.kill('SIGTERM');
  const occupied = await backup(['restore', ...dataDir], place);
  assert.equal(occupied.code, 5);
  assert.match(occupied.stderr, /^spine: There is an installation in [^\n]*\n$/);
  const restored = await backup(['restore', '--force', ...dataDir], place);
  assert.equal(restored.code, 0);
  assert.match(
    restored.stdout,
    /^Restored the snapshot \S+ \((now|\S+ ago)\) from [^\n]+\nWhat was there is kept as \S+\.\n/,
  );
  await server.restart();
});

test('the commands answer under openclaw-scheduler too [SC-75]', async (t) => {
  const SCHEDULER_BACKUP_DIR = tempFolder(t);
  await using server = await startServer();
  const env = { SCHEDULER_BACKUP_DIR, SPINE_DATA_DIR: server.dataDir };
  for (const [verb, says] of [
    [
      'snapshot',
      /^Made the snapshot \S+ in \S+: 0 jobs \(\S+ KiB\), 0 artifacts \(0 bytes\); read back and checked\.\n$/,
    ],
    ['rollup', /^Made the rollup /],
    ['list', /^name +kind +age +size +place\n\S+ +rollup /],
    ['status', /^automatic +off\nplace +\S+\nkept +1 snapshot, 1 rollup, \S+ [KM]iB\nnewest +\S+, [^\n]+\n$/],
  ] as const) {
    const { code, stdout, stderr } = await begin([verb], env, 'openclaw-scheduler').ran;
    assert.equal(code, 0, stderr);
    assert.match(stdout, says);
  }
});

test('what cannot be is told in one line, with an exit code of its own [SC-75]', async (t) => {
  const folder = tempFolder(t);
  const dataDir = ['--data-dir', join(folder, 'data')];
  const file = join(import.meta.dirname, 'live.test.ts');
  await using server = await startServer({ dataDir: join(folder, 'data') });
  for (const [args, code, says] of [
    [['snapshot', ...dataDir], 78, /^spine: Nothing says where backups are: [^\n]+\n$/],
    [['snapshot', '--to', 'ftp://x', ...dataDir], 2, /^spine: --to is not a folder or s3:[^\n]+\n$/],
    [['snapshot', '--to', file, ...dataDir], 1, /^spine: [^\n]+\n$/],
    [
      ['snapshot', '--to', folder, '--data-dir', join(folder, 'no')],
      3,
      /^spine: There is no data dir at [^\n]+\n$/,
    ],
    [['snapshot', '--to', 's3://some-box', ...dataDir], 78, /^spine: No keys for the bucket: [^\n]+\n$/],
    [['restore', 'yesterday', '--from', folder, ...dataDir], 2, /^spine: A backup is named like [^\n]+\n$/],
    [
      ['restore', '--from', folder, '--data-dir', join(folder, 'new')],
      3,
      /^spine: There is no backup that can be restored in [^\n]+\n$/,
    ],
    [['somewhen'], 2, /^spine: Unknown command 'somewhen'[^\n]*\n$/],
  ] as const) {
    const ran = await backup(args);
    assert.equal(ran.code, code, `${args.join(' ')}: ${ran.stdout}${ran.stderr}`);
    assert.match(ran.stderr, says);
  }
  assert.ok(server.running);
});

test('a storage that never answers ends the command in time, and holds up neither the server nor its stop [SC-15]', async (t) => {
  const deaf = createServer(() => undefined).listen(0, '127.0.0.1');
  await once(deaf, 'listening');
  const sockets = new Set<{ destroy(): void }>();
  deaf.on('connection', (socket) => sockets.add(socket));
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    deaf.close();
  });
  const { port } = deaf.address() as { port: number };
  const place = {
    SCHEDULER_BACKUP_BUCKET: 'some-box',
    SPINE_BACKUP_ENDPOINT: `http://127.0.0.1:${port}`,
    AWS_ACCESS_KEY_ID: 'a',
    AWS_SECRET_ACCESS_KEY: 'b',
  };
  const quick = { ...place, SPINE_BACKUP_TIMEOUT_MS: '500' };
  await using server = await startServer({
    env: { ...quick, SCHEDULER_BACKUP_ENABLED: 'true' },
  });
  const ran = await backup(['snapshot', '--data-dir', server.dataDir], quick);
  assert.ok(ran.code === 7 || ran.code === 5, `${ran.code}`);
  if (ran.code === 7)
    assert.match(ran.stderr, /^spine: http:\S+ \(s3:\S+\) did not answer within 0\.5 seconds\.\n$/);
  await eventually('the loop says so', 10_000, async () => {
    const { body } = await server.head.get<{ loops: { name: string; lastError: string | null }[] }>(
      '/health/details',
    );
    return (
      /did not answer within/.test(body.loops.find(({ name }) => name === 'backup')?.lastError ?? '') || null
    );
  });
  const status = await backup(['status', '--data-dir', server.dataDir], quick);
  assert.equal(status.code, 1);
  assert.match(status.stdout, /^trouble +http:\S+ \(s3:\S+\) did not answer within/m);

  await using patient = await startServer({
    env: { ...place, SCHEDULER_BACKUP_ENABLED: 'true', SPINE_BACKUP_TIMEOUT_MS: '600000' },
  });
  await eventually('it waits for the storage', 10_000, async () => (sockets.size > 0 ? true : null));
  const stoppedAt = performance.now();
  await patient.kill('SIGTERM');
  assert.equal(patient.exitCode, 0);
  assert.ok(performance.now() - stoppedAt < 8_000);
});

test('with a bucket for what bots collect a backup says that this is not in it [SC-15 TQ-11]', async (t) => {
  const place = { SCHEDULER_BACKUP_DIR: tempFolder(t), S3_BUCKET: 'box' };
  await using server = await startServer();
  const made = await backup(['snapshot', '--data-dir', server.dataDir], place);
  assert.equal(made.code, 0, made.stderr);
  assert.match(made.stderr, /^What bots collected lies in the bucket S3_BUCKET and is not in it: [^\n]+\n$/);
});

test('on PostgreSQL a folder of artifacts and what bots collected are backed up, and the rest is said to be pg_dump’s [SC-15 TQ-11]', {
  skip: skipWithoutPostgres,
}, async (t) => {
  const folder = tempFolder(t);
  const database = await freshDatabase(process.env['TEST_POSTGRES_URL'] ?? '');
  try {
    const shared = { SPINE_BLOB_DIR: join(folder, 'shared') };
    await using server = await startServer({ databaseUrl: database.url, env: shared });
    const body = new FormData();
    body.append('file', new Blob(['kept']), 'kept.txt');
    const headers = { authorization: `Bearer ${server.tokens.head}` };
    assert.ok((await fetch(`${server.url}/blobs`, { method: 'POST', body, headers })).ok);
    // Its people go with the server.
    const { bots, ...world } = await peopled(server, 1);
    const [bot] = bots;
    assert.ok(bot !== undefined);
    await addTask({ ...world, bots });
    const { id } = await claimed(bot);
    const { key } = expectData(await post(bot, id, 'posts', [{ data: 'collected' }]), 201);
    assert.ok(key !== null);
    const env = { DATABASE_URL: database.url, SCHEDULER_BACKUP_DIR: join(folder, 'backups') };
    const made = await backup(['snapshot', '--data-dir', server.dataDir], { ...env, ...shared });
    assert.equal(made.code, 0, made.stderr);
    assert.match(
      made.stdout,
      /^Made the snapshot \S+ in \S+: 1 artifact \(4 bytes\), 1 object of task data \(\d+ bytes\); read back and checked\.\n$/,
    );
    assert.match(made.stderr, /^The database is on PostgreSQL and not in it: back that up with pg_dump/);
    const dataDir = join(folder, 'new');
    const elsewhere = join(folder, 'elsewhere');
    const restored = await backup(['restore', '--data-dir', dataDir], { ...env, SPINE_BLOB_DIR: elsewhere });
    assert.equal(restored.code, 0, restored.stderr);
    assert.equal(readdirSync(elsewhere).length, 2);
    const within = await backup(['snapshot', '--data-dir', server.dataDir, '--to', join(folder, 'other')], {
      DATABASE_URL: database.url,
    });
    assert.equal(within.code, 0, within.stderr);
    assert.match(within.stdout, /: there is nothing that is not in the database; read back/);
    assert.match(
      within.stderr,
      /^Artifacts and what bots collected lie in the database, too: they are backed/m,
    );
    assert.deepEqual(
      readFileSync(join(elsewhere, 'objects', key)),
      readFileSync(join(shared.SPINE_BLOB_DIR, 'objects', key)),
    );
    const wrong = await backup(['restore', '--data-dir', join(folder, 'sqlite')], {
      SCHEDULER_BACKUP_DIR: env.SCHEDULER_BACKUP_DIR,
    });
    assert.equal(wrong.code, 3);
    assert.match(wrong.stderr, /has no database in it: it is of an installation on PostgreSQL\./);
  } finally {
    await database.drop();
  }
});
