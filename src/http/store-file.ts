/** Files that callers send, whichever door they come in by: bytes first, then the record of them. */

import { displayName } from '../blobs/filename.ts';
import type { Engine } from '../engine/engine.ts';
import type { Parts } from './parts.ts';

export const UNKNOWN_TYPE = 'application/octet-stream';

export type BlobRecord = Parameters<Engine['blobs']['save']>[1];

export interface SentFile {
  readonly filename: string;
  readonly contentType: string;
  readonly content: AsyncIterable<Uint8Array>;
}

/** Bytes whose record is refused are not kept. */
export async function storeFile(
  { blobStore, blobLimitBytes }: Pick<Parts, 'blobStore' | 'blobLimitBytes'>,
  sent: SentFile,
  save: (record: BlobRecord) => Promise<unknown>,
): Promise<object> {
  const { id, size, sha256, path } = await blobStore.put(sent.content, blobLimitBytes);
  const filename = displayName(sent.filename);
  try {
    await save({ id, filename, size, sha256, contentType: plainType(sent.contentType) });
  } catch (error) {
    await blobStore.remove(id);
    throw error;
  }
  return { id, filename, size, path, sha256 };
}

function plainType(given: string): string {
  return /^[\w.+-]{1,60}\/[\w.+-]{1,60}$/.test(given) ? given.toLowerCase() : UNKNOWN_TYPE;
}
