/** Files that callers read back, whichever door they come in by: for whom they are, and whether they are whole. */

import { SpineError } from '../domain/error.ts';
import type { Engine } from '../engine/engine.ts';
import type { Parts } from './parts.ts';
import type { Call } from './routes.ts';

export type StoredFile = Awaited<ReturnType<Engine['blobs']['get']>>;

/** What is known about a file that the caller may have. */
export async function fileFor(call: Call, id: string): Promise<StoredFile> {
  if (!/^[\w-]{1,64}$/.test(id)) throw new SpineError('not_found');
  const file = await call.engine.blobs.get(id);
  await refuseForeign(call, file);
  return file;
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

/** An artifact is for those who may see its job; a run may see no other file at all. */
async function refuseForeign({ engine, actor }: Call, { jobNo }: StoredFile): Promise<void> {
  if (jobNo !== null && actor.targets !== null) await engine.jobs.get(actor, String(jobNo));
  if (jobNo === null && actor.role === 'run') throw new SpineError('forbidden');
}
