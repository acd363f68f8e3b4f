import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { suite, test } from 'node:test';
import { S3Client } from '@bradenmacdonald/s3-lite-client';
import { openDiskBlobs } from '../../src/blobs/disk.ts';
import { bucketBlobs } from '../../src/blobs/s3.ts';
import { BlobSweeper } from '../../src/loops/blob-sweeper.ts';
import { openBucket } from '../../src/objects/bucket.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { eventually } from '../scheduler/support.ts';
import { HEAD, SQLITE_MEMORY } from '../support/engines.ts';
import { skipWithoutPostgres } from '../support/postgres.ts';
import { type GivenS3, givenS3 } from '../support/s3/given.ts';
import { startServer } from '../support/server.ts';
import { download, upload } from './artifacts.ts';
import { madeIn, newInstallation } from './support.ts';

/** Waited for here: its first installation may take longer than a test. */
const given = await givenS3();

interface Box {
  readonly client: S3Client;
  readonly env: Readonly<Record<string, string>>;
  readonly keys: () => Promise<string[]>;
  /** Without the mark of their owner. */
  readonly artifacts: () => Promise<string[]>;
}

async function newBox(name: string, { endpoint, accessKey, secretKey }: Found): Promise<Box> {
  const bucket = `${name}-${process.pid}`;
  const client = new S3Client({ endPoint: endpoint, region: 'us-east-1', bucket, accessKey, secretKey });
  await client.makeBucket(bucket);
  const keys = async (): Promise<string[]> => {
    const listed: string[] = [];
    for await (const { key } of client.listObjects()) listed.push(key);
    return listed;
  };
  return {
    client,
    keys,
    artifacts: async () => (await keys()).filter((key) => key !== 'blobs/.owner'),
    env: {
      SPINE_BLOB_BUCKET: bucket,
      S3_ENDPOINT: endpoint,
      AWS_ACCESS_KEY_ID: accessKey,
      AWS_SECRET_ACCESS_KEY: secretKey,
    },
  };
}

type Found = Exclude<GivenS3, { missing: string }>;

suite('artifacts in a bucket', { skip: 'missing' in given ? given.missing : false }, () => {
  const found = given as Found;

  test('each server serves what any of them took [SP-26]', { skip: skipWithoutPostgres }, async (t) => {
    const box = await newBox('shelf', found);
    const spine = await newInstallation(t);
    const [dirA, dirB] = [spine.dataDir(), spine.dataDir()];
    const a = await spine.start(dirA, box.env);
    const b = await spine.start(dirB, box.env);
    const { head } = madeIn(dirA) ?? assert.fail();
    const ids: string[] = [];
    for (const size of [0, 1, 12_345_678]) {
      const bytes = randomBytes(size);
      const id = await upload(a, head, bytes);
      assert.ok((await download(b, head, id)).equals(bytes), `${size} bytes`);
      ids.push(id);
    }
    assert.deepEqual(await box.artifacts(), ids.map((id) => `blobs/${id}`).toSorted());
    assert.deepEqual(readdirSync(join(dirA, 'uploads')), []);
    assert.equal(existsSync(join(dirA, 'blobs')), false);

    await box.client.deleteObject(`blobs/${ids[1]}`);
    const headers = { authorization: `Bearer ${head}` };
    const gone = await fetch(`${b.url}/blobs/${ids[1]}`, { headers });
    assert.match(await gone.text(), /artifact_damaged/);
    const backups = mkdtempSync(join(tmpdir(), 'spine-backups-'));
    t.after(() => rmSync(backups, { recursive: true }));
    const made = spine.spine(dirA, ['backup', 'snapshot', '--to', backups], box.env);
    assert.match(made.stderr, /^Artifacts lie in the bucket SPINE_BLOB_BUCKET and are not in it: /m);
    assert.doesNotMatch(made.stderr, /in the database, too/);
    const looked = spine.spine(dirA, ['doctor', '--deep'], box.env);
    assert.match(looked.stdout, /artifacts +they lie in the bucket shelf-\d+, which was not looked into/);
  });

  test('an upload that ends half-way, is too large or is refused by the storage leaves nothing', async (t) => {
    const box = await newBox('torn', found);
    const wrong = `not-${found.secretKey}`;
    const server = await startServer({ env: { ...box.env, SPINE_BLOB_LIMIT_BYTES: '1000000' } });
    t.after(() => server.stop());
    const locked = await startServer({
      env: { ...box.env, AWS_SECRET_ACCESS_KEY: wrong },
      logLevel: 'warn',
    });
    t.after(() => locked.stop());
    const post = (to: typeof server, size: number): Promise<Response> => {
      const body = new FormData();
      body.append('file', new Blob([Buffer.alloc(size)]), 'f');
      const headers = { authorization: `Bearer ${to.tokens.head}` };
      return fetch(`${to.url}/blobs`, { method: 'POST', headers, body });
    };
    const uploads = (): string[] => readdirSync(join(server.dataDir, 'uploads'));
    assert.equal((await post(server, 1_500_000)).status, 413);

    const socket = connect(server.port, '127.0.0.1');
    socket.on('error', () => undefined);
    socket.write(
      `POST /blobs HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer ${server.tokens.head}\r\ncontent-length: 900000\r\ncontent-type: multipart/form-data; boundary=x\r\n\r\n--x\r\ncontent-disposition: form-data; name="file"; filename="f"\r\n\r\n`,
    );
    socket.write(Buffer.alloc(300_000));
    await eventually('it is on its way', 10_000, async () => (uploads().length > 0 ? true : null));
    socket.destroy();
    await eventually('nothing is left', 10_000, async () => (uploads().length === 0 ? true : null));

    for (const size of [5, 3_000_000]) {
      const refused = await post(locked, size);
      assert.deepEqual([refused.status, /storage_unavailable/.test(await refused.text())], [503, true]);
    }
    assert.match(locked.output(), /The storage of artifacts failed while writing to s3:\/\/torn-/);
    assert.ok(!locked.output().includes(wrong));
    assert.deepEqual(readdirSync(join(locked.dataDir, 'uploads')), []);
    assert.deepEqual(await box.artifacts(), []);
  });

  test('what no record names goes when it was found twice and is a day old, out of our own bucket alone', async () => {
    const { client, env, keys } = await newBox('swept', found);
    await using spine = await SQLITE_MEMORY.open();
    const folder = mkdtempSync(join(tmpdir(), 'spine-spool-'));
    const place = {
      endpoint: found.endpoint,
      region: 'us-east-1',
      bucket: env['SPINE_BLOB_BUCKET'] ?? '',
      accessKey: found.accessKey,
      secretKey: found.secretKey,
      sessionToken: null,
    };
    const after = (delayMs: number, task: () => void) => systemClock().after(delayMs, task);
    const bucket = openBucket(place, { timeoutMs: 10_000, after, onProblem: () => undefined });
    let made = 0;
    const now = () => Date.now();
    const spool = await openDiskBlobs({ folder, newId: () => `${++made}`, now });
    const blobs = bucketBlobs({ bucket, name: 's3://swept', spool });
    try {
      const put = () => blobs.put(Readable.from([Buffer.from('bytes')]), 100);
      const [forgotten, kept] = [await put(), await put()];
      const facts = { filename: 'f', size: 5, sha256: 's', contentType: 'text/plain' };
      await spine.engine.blobs.save(HEAD, { ...facts, id: kept.id });
      await client.putObject('somebody-elses', 'x');
      assert.equal(await blobs.drop(`blobs/${forgotten.id}`, Date.now() - 3_600_000), false);
      assert.equal(await blobs.owner('us'), 'us');
      assert.equal(await blobs.owner('them'), 'us');
      const others = new BlobSweeper(spine.engine.core, blobs, async () => false);
      const ours = new BlobSweeper(spine.engine.core, blobs, async () => true);
      // The storage has a clock of its own.
      await spine.clock.advance(Date.now() + 25 * 3_600_000 - spine.engine.now());
      for (let round = 0; round < 3; round++) await others.runOnce();
      assert.equal((await keys()).length, 4);
      assert.deepEqual(await ours.runOnce(), { done: 0, more: false });
      assert.deepEqual(await ours.runOnce(), { done: 1, more: false });
      assert.deepEqual(await keys(), ['blobs/.owner', `blobs/${kept.id}`, 'somebody-elses']);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
