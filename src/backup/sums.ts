/** SHA-256 of what streams by. */

import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import type { Source } from './place.ts';

export interface Sum {
  readonly size: number;
  /** In hexadecimal digits. */
  readonly sha256: string;
}

export async function sumOf(content: AsyncIterable<Uint8Array>): Promise<Sum> {
  const hash = createHash('sha256');
  let size = 0;
  for await (const chunk of content) {
    size += chunk.length;
    hash.update(chunk);
  }
  return { size, sha256: hash.digest('hex') };
}

export function sumOfText(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

const CHUNK_BYTES = 1024 * 1024;

/** The first `size` bytes of a file: somebody may be appending to it. */
export function fileSource(file: string, size: number): Source {
  return {
    size,
    async *open() {
      if (size === 0) return;
      yield* createReadStream(file, {
        end: size - 1,
        highWaterMark: CHUNK_BYTES,
      }) as AsyncIterable<Uint8Array>;
    },
  };
}

/** Passes the bytes on, and throws at their end when they do not add up to what was stored. */
export async function* checked(content: AsyncIterable<Uint8Array>, sum: Sum): AsyncGenerator<Uint8Array> {
  const hash = createHash('sha256');
  let size = 0;
  for await (const chunk of content) {
    size += chunk.length;
    if (size > sum.size) break;
    hash.update(chunk);
    yield chunk;
  }
  if (size !== sum.size || hash.digest('hex') !== sum.sha256) throw new Damaged();
}

/** These are not the bytes that were stored. */
export class Damaged extends Error {}

/** Writes what comes by to a new private file, durably, and says what it added up to. */
export async function writeFile(file: string, content: AsyncIterable<Uint8Array>): Promise<Sum> {
  const handle = await open(file, 'w', 0o600);
  try {
    const sum = await sumOf(tee(content, (chunk) => writeAll(handle, chunk)));
    await handle.datasync();
    return sum;
  } finally {
    await handle.close();
  }
}

async function* tee(
  content: AsyncIterable<Uint8Array>,
  each: (chunk: Uint8Array) => Promise<void>,
): AsyncGenerator<Uint8Array> {
  for await (const chunk of content) {
    await each(chunk);
    yield chunk;
  }
}

async function writeAll(
  handle: { write(chunk: Uint8Array, at: number): Promise<{ bytesWritten: number }> },
  chunk: Uint8Array,
): Promise<void> {
  for (let at = 0; at < chunk.length; ) at += (await handle.write(chunk, at)).bytesWritten;
}
