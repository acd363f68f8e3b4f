/**
 * Blobs as objects in a bucket. Each is written into a folder of this server first: so nothing of an upload that ends
 * half-way or is too large goes out, and a slow sender holds no memory.
 */

import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import type { Bucket } from '../objects/bucket.ts';
import type { BlobStore, StoredBytes, StoredFile } from './blobs.ts';

export interface BucketOptions {
  readonly bucket: Bucket;
  /** As people write it: s3://name */
  readonly name: string;
  /** Uploads on their way, on this server's disk. */
  readonly spool: BlobStore;
}

const PREFIX = 'blobs/';
const OWNER = `${PREFIX}.owner`;
const ID = /^[\w-]{1,64}$/;
export interface BucketBlobs extends BlobStore {
  /** The name of the installation that the bucket belongs to, kept in it: the first one to come gets it. */
  owner(identity: string): Promise<string>;
}

export function bucketBlobs({ bucket, name, spool }: BucketOptions): BucketBlobs {
  const open = (id: string) => (ID.test(id) ? bucket.open(`${PREFIX}${id}`) : Promise.resolve(null));
  return {
    async put(content, limitBytes) {
      const stored = await spool.put(content, limitBytes);
      try {
        await send(bucket, spool, stored);
      } finally {
        await spool.remove(stored.id);
      }
      return { ...stored, path: `${name}/${PREFIX}${stored.id}` };
    },
    async open(id) {
      const found = await open(id);
      if (found === null) return null;
      return { size: found.size, content: Readable.from(found.content, { highWaterMark: 1 }) };
    },
    async sha256(id) {
      const found = await open(id);
      if (found === null) return null;
      const hash = createHash('sha256');
      for await (const bytes of found.content) hash.update(bytes);
      return hash.digest('hex');
    },
    async remove(id) {
      if (ID.test(id)) await bucket.remove(`${PREFIX}${id}`);
    },
    files: () => files(bucket),
    async drop(key, before) {
      const at = await bucket.writtenAt(key);
      if (at === null || at >= before) return false;
      await bucket.remove(key);
      return true;
    },
    async owner(identity) {
      const known = await bucket.open(OWNER);
      if (known !== null) return textOf(known.content);
      await bucket.put(OWNER, Buffer.from(identity));
      return identity;
    },
  };
}

async function textOf(content: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of content) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

async function send(bucket: Bucket, spool: BlobStore, { id, size }: StoredBytes): Promise<void> {
  const found = await spool.open(id);
  if (found === null) throw new Error(`the upload ${id} is gone from the disk`);
  try {
    await bucket.upload(`${PREFIX}${id}`, size, found.content);
  } finally {
    found.content.destroy();
  }
}

/** An upload under way looks like one that nobody recorded: what was put there lately is left alone. */
async function* files(bucket: Bucket): AsyncGenerator<StoredFile> {
  for await (const key of bucket.keys(PREFIX)) {
    const id = key.slice(PREFIX.length);
    if (ID.test(id)) yield { id, name: key, isPart: false };
  }
}
