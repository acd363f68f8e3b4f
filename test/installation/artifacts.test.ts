import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { suite, test } from 'node:test';
import { Client } from 'pg';
import { deepCheck } from '../../src/app/deep-check.ts';
import { databaseBlobs } from '../../src/blobs/database.ts';
import { PIECE_BYTES } from '../../src/domain/piece-table.ts';
import { loadConfig } from '../../src/config.ts';
import { BlobSweeper } from '../../src/loops/blob-sweeper.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { openPieces } from '../../src/store/postgres-pieces.ts';
import { eventually } from '../scheduler/support.ts';
import { HEAD, POSTGRES } from '../support/engines.ts';
import { skipWithoutPostgres } from '../support/postgres.ts';
import { download, upload } from './artifacts.ts';
import { madeIn, newInstallation } from './support.ts';

const HOUR_MS = 3_600_000;
suite('artifacts of servers on one database', { skip: skipWithoutPostgres }, () => {
  test('each serves what any of them took, from data dirs of their own [SP-26]', async (t) => {
    const spine = await newInstallation(t);
    const [dirA, dirB] = [spine.dataDir(), spine.dataDir()];
    const a = await spine.start(dirA);
    const b = await spine.start(dirB);
    const { head } = madeIn(dirA) ?? assert.fail();
    for (const size of [0, 1, PIECE_BYTES, 3 * PIECE_BYTES + 7]) {
      const bytes = randomBytes(size);
      const id = await upload(a, head, bytes);
      assert.ok((await download(b, head, id)).equals(bytes), `${size} bytes`);
      assert.ok((await download(a, head, id)).equals(bytes));
    }
    const late = await upload(b, head, Buffer.from('of the other'));
    await b.stop();
    assert.equal(String(await download(a, head, late)), 'of the other');
    for (const dir of [dirA, dirB]) assert.equal(existsSync(join(dir, 'blobs')), false);

    const config = loadConfig({ DATABASE_URL: spine.url }, { dataDir: spine.dataDir() });
    const found = async () => (await deepCheck(config)).find(({ check }) => check === 'artifacts');
    assert.deepEqual(await found(), {
      check: 'artifacts',
      status: 'pass',
      message: '5 have the bytes that were stored',
    });
    const client = new Client({ connectionString: spine.url });
    await client.connect();
    await client.query("update piece set bytes = 'changed' where name = $1", [`blobs/${late}`]);
    await client.end();
    assert.match((await found())?.message ?? '', new RegExp(`^${late} \\(made.bin\\)$`));
    const headers = { authorization: `Bearer ${head}` };
    const answer = await fetch(`${a.url}/blobs/${late}`, { headers });
    assert.match(await answer.text(), /artifact_damaged/);
  });

  test('lie in a folder that they share, where SPINE_BLOB_DIR names one', async (t) => {
    const spine = await newInstallation(t);
    const env = { SPINE_BLOB_DIR: spine.dataDir() };
    const [dirA, dirB] = [spine.dataDir(), spine.dataDir()];
    const a = await spine.start(dirA, env);
    const b = await spine.start(dirB, env);
    const { head } = madeIn(dirA) ?? assert.fail();
    const id = await upload(a, head, Buffer.from('shared'));
    assert.equal(String(await download(b, head, id)), 'shared');
    assert.ok(existsSync(join(env.SPINE_BLOB_DIR, id)));
  });

  test('an upload that ends half-way, or is too large, leaves nothing in the database', async (t) => {
    const spine = await newInstallation(t);
    const dir = spine.dataDir();
    const server = await spine.start(dir, { SPINE_BLOB_LIMIT_BYTES: '1000000' });
    const { head } = madeIn(dir) ?? assert.fail();
    const client = new Client({ connectionString: spine.url });
    await client.connect();
    // Before the database goes, which is put away first.
    using _ = { [Symbol.dispose]: () => void client.end() };
    const pieces = async (): Promise<number> =>
      Number((await client.query<{ n: string }>('select count(*) as n from piece')).rows[0]?.n);
    const body = new FormData();
    body.append('file', new Blob([Buffer.alloc(1_500_000)]), 'large');
    const headers = { authorization: `Bearer ${head}` };
    const answer = await fetch(`${server.url}/blobs`, { method: 'POST', headers, body });
    assert.equal(answer.status, 413);
    assert.equal(await pieces(), 0);

    const socket = connect(server.port, '127.0.0.1');
    socket.on('error', () => undefined);
    socket.write(
      `POST /blobs HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer ${head}\r\ncontent-length: 900000\r\ncontent-type: multipart/form-data; boundary=x\r\n\r\n--x\r\ncontent-disposition: form-data; name="file"; filename="f"\r\n\r\n`,
    );
    socket.write(Buffer.alloc(2 * PIECE_BYTES + 100));
    await eventually('a piece of it is there', 10_000, async () => ((await pieces()) > 0 ? true : null));
    socket.destroy();
    await eventually('nothing is left', 10_000, async () => ((await pieces()) === 0 ? true : null));
  });

  test('bytes without a record go after a day, when they were found twice, and no others', async () => {
    await using spine = await POSTGRES.open();
    const table = openPieces(spine.place, systemClock());
    const now = () => spine.engine.now();
    let made = 0;
    const blobs = databaseBlobs({ table, newId: () => `${++made}`, now });
    const put = (): Promise<{ id: string }> =>
      blobs.put(Readable.from([Buffer.alloc(2 * PIECE_BYTES + 1)]), 1e9);
    const sweeper = new BlobSweeper(spine.engine.core, blobs);
    try {
      const [forgotten, kept] = [await put(), await put()];
      const facts = { filename: 'f', size: 5, sha256: 's', contentType: 'text/plain' };
      await spine.engine.blobs.save(HEAD, { ...facts, id: kept.id });
      await spine.clock.advance(25 * HOUR_MS);
      const young = await put();
      assert.deepEqual(await sweeper.runOnce(), { done: 0, more: false });
      assert.deepEqual(await sweeper.runOnce(), { done: 1, more: false });
      assert.equal(await blobs.open(forgotten.id), null);
      for (const { id } of [kept, young]) assert.equal((await blobs.open(id))?.size, 2 * PIECE_BYTES + 1);
      assert.deepEqual(await table.names('blobs/', 'blobs0', 1), [`blobs/${kept.id}`]);
    } finally {
      await table.close();
    }
  });

  test('a reader who stops holds no connection, and one piece that is gone makes it no artifact', async () => {
    await using spine = await POSTGRES.open();
    const table = openPieces(spine.place, systemClock());
    let made = 0;
    const blobs = databaseBlobs({ table, newId: () => `${++made}`, now: () => 0 });
    try {
      const { id } = await blobs.put(Readable.from([Buffer.alloc(40 * PIECE_BYTES)]), 1e9);
      const readers = await Promise.all(Array.from({ length: 12 }, () => blobs.open(id)));
      for (const reader of readers) await once(reader?.content ?? assert.fail(), 'readable');
      assert.equal((await blobs.open(id))?.size, 40 * PIECE_BYTES);
      for (const reader of readers) assert.ok((reader?.content.readableLength ?? 99) <= 2, 'it reads ahead');
      for (const reader of readers) reader?.content.destroy();
      const client = new Client({ connectionString: spine.place });
      await client.connect();
      await client.query('delete from piece where no = 7');
      await client.end();
      assert.equal(await blobs.open(id), null);
      assert.equal(await blobs.sha256(id), null);
    } finally {
      await table.close();
    }
  });
});
