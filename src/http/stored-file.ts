/** Files that callers read back, whichever door they come in by, and whether they are whole. */

import { SpineError } from '../domain/error.ts';
import type { Engine } from '../engine/engine.ts';
import type { Parts } from './parts.ts';
import type { Call } from './routes.ts';

export type StoredFile = Awaited<ReturnType<Engine['blobs']['get']>>;

/** What is known about a file that the caller may have. */
export async function fileFor({ engine, actor }: Call, id: string): Promise<StoredFile> {
  if (!/^[\w-]{1,64}$/.test(id)) throw new SpineError('not_found');
  return engine.blobs.get(actor, id);
}

/** Judged before the first byte goes out: a wrong answer could not be taken back. */
export async function openWhole(
  { blobStore }: Pick<Parts, 'blobStore'>,
  { id, size, sha256 }: StoredFile,
  verify: boolean,
) {
  if (verify && (await blobStore.sha256(id)) !== sha256) throw new SpineError('artifact_damaged', { id });
  const bytes = await blobStore.open(id);
  if (bytes?.size === size) return bytes;
  bytes?.content.destroy();
  throw new SpineError('artifact_damaged', { id });
}
