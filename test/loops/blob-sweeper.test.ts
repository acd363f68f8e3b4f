import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mkdtemp, readdir, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import type { BlobStore } from '../../src/blobs/blobs.ts';
import { openDiskBlobs } from '../../src/blobs/disk.ts';
import { ownerOf } from '../../src/blobs/owner.ts';
import type { Job } from '../../src/domain/job.ts';
import { BlobSweeper } from '../../src/loops/blob-sweeper.ts';
import { Pruner } from '../../src/loops/pruner.ts';
import type { Duty } from '../../src/loops/loop.ts';
import { claimed, create, DIALECTS, HEAD, onEvery, type Opened, worker } from '../support/engines.ts';

const DAY_MS = 86_400_000;

async function tempFolder(): Promise<string> {
  return mkdtemp(join(tmpdir(), 'spine-sweep-'));
}

/** Runs a duty until it says that there is nothing more. */
async function wholeRound(duty: Duty): Promise<number> {
  for (let done = 0, pass = 0; pass < 100; pass++) {
    const { done: now, more } = await duty.runOnce();
    done += now;
    if (!more) return done;
  }
  throw new Error('it never comes to an end');
}

interface Shelf {
  readonly folder: string;
  readonly blobs: BlobStore;
  /** Puts a file there that was last written to so long ago by the engine's clock. */
  readonly put: (ageMs: number, name?: string) => Promise<string>;
}

async function openShelf(spine: Opened): Promise<Shelf> {
  const folder = await tempFolder();
  const blobs = await openDiskBlobs({ folder, newId: randomUUID, now: () => spine.engine.now() });
  return {
    folder,
    blobs,
    put: async (ageMs, name) => {
      const id = name ?? (await blobs.put(Readable.from([Buffer.from('bytes')]), 100)).id;
      if (name !== undefined) await writeFile(join(folder, name), 'bytes');
      const at = new Date(spine.engine.now() - ageMs);
      await utimes(join(folder, id), at, at);
      return id;
    },
  };
}

async function attached(spine: Opened, id: string): Promise<Job> {
  const held = await claimed(spine, await create(spine));
  const facts = { id, filename: 'f', size: 5, sha256: 's', contentType: 'text/plain' };
  await spine.engine.blobs.attach(worker('w'), held.id, held.leaseToken, facts);
  return (await spine.engine.leases.complete(worker('w'), held.id, held.leaseToken, null)).job;
}

onEvery(DIALECTS, (each) => {
  each('retention frees the bytes of the artifacts whose jobs it removes, and no others', async (spine) => {
    const { folder, blobs, put } = await openShelf(spine);
    const old = await put(40 * DAY_MS);
    await attached(spine, old);
    const loose = await put(40 * DAY_MS);
    await spine.engine.blobs.save(HEAD, {
      id: loose,
      filename: 'f',
      size: 5,
      sha256: 's',
      contentType: 'text/plain',
    });
    await spine.clock.advance(31 * DAY_MS);
    const young = await put(40 * DAY_MS);
    await attached(spine, young);
    await create(spine);
    const sweeper = new BlobSweeper(spine.engine.core, blobs);
    await wholeRound(sweeper);
    await wholeRound(sweeper);
    assert.deepEqual((await readdir(folder)).toSorted(), [old, loose, young].toSorted());
    await wholeRound(
      new Pruner(spine.engine.core, {
        everyMs: 60_000,
        retentionMs: 30 * DAY_MS,
        forget: async () => undefined,
      }),
    );
    await wholeRound(sweeper);
    await wholeRound(sweeper);
    assert.deepEqual((await readdir(folder)).toSorted(), [loose, young].toSorted());
    await rm(folder, { recursive: true });
  });

  each(
    'an upload whose record is still to come keeps its bytes, however the clock was moved',
    async (spine) => {
      const { folder, blobs, put } = await openShelf(spine);
      const sweeper = new BlobSweeper(spine.engine.core, blobs);
      const early = await put(400 * DAY_MS);
      await wholeRound(sweeper);
      await attached(spine, early);
      const late = await put(400 * DAY_MS);
      await wholeRound(sweeper);
      await attached(spine, late);
      await wholeRound(sweeper);
      assert.deepEqual((await readdir(folder)).toSorted(), [early, late].toSorted());
      await rm(folder, { recursive: true });
    },
  );

  each('what a died upload left goes, both names of an old file go, foreign files stay', async (spine) => {
    const { folder, blobs, put } = await openShelf(spine);
    const id = randomUUID();
    const foreign = ['notes.txt', `${id}.tar.gz`, 'README'];
    for (const name of [id, `${id}.pdf`, ...foreign]) await put(2 * DAY_MS, name);
    const young = await put(DAY_MS / 2);
    const halfDone = `${randomUUID()}.part`;
    await put(DAY_MS / 2, halfDone);
    const sweeper = new BlobSweeper(spine.engine.core, blobs);
    await wholeRound(sweeper);
    await wholeRound(sweeper);
    assert.deepEqual((await readdir(folder)).toSorted(), [...foreign, young].toSorted());
    await rm(folder, { recursive: true });
  });

  each('thousands of forgotten files are swept out in bounded passes', async (spine) => {
    const { folder, blobs, put } = await openShelf(spine);
    for (let n = 0; n < 1_200; n++) await put(2 * DAY_MS, randomUUID());
    const sweeper = new BlobSweeper(spine.engine.core, blobs);
    assert.equal((await sweeper.runOnce()).more, true);
    await wholeRound(sweeper);
    assert.equal(await wholeRound(sweeper), 1_200);
    await rm(folder, { recursive: true });
  });
});

test('a folder of artifacts belongs to whoever came first, or to the database beside it', async () => {
  const dir = await tempFolder();
  const identityFile = join(dir, 'spine.id');
  assert.equal(await ownerOf(dir, identityFile, 'first'), 'first');
  assert.equal(await ownerOf(dir, identityFile, 'second'), 'first');
  await rm(join(dir, '.owner'));
  await writeFile(identityFile, 'embedded\n');
  assert.equal(await ownerOf(dir, identityFile, 'first'), 'embedded');
  await rm(dir, { recursive: true });
});
