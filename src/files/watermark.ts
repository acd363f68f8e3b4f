/** How far the readable files have come, kept beside them in `files.watermark`. */

import { readFile } from 'node:fs/promises';
import path from 'node:path';
import type { FeedPlace } from '../domain/event.ts';
import type { Store } from '../store/store.ts';
import { replaceFile } from './atomic.ts';
import { continues, type Mark } from './feed-mark.ts';

export interface Watermark {
  readonly mark: Mark | null;
  /** Histories that start up to here are written anew: their files may tell of another past. */
  readonly rewriteTo: FeedPlace | null;
}

const NOTHING: Watermark = { mark: null, rewriteTo: null };

/** Everything the database holds at the moment of the look is older than this. */
const END: FeedPlace = { pos: Number.MAX_SAFE_INTEGER, ordinal: 0 };

export async function readWatermark(dir: string): Promise<Watermark> {
  return (await readSaved(dir)) ?? NOTHING;
}

/** Compares it with the database: one that tells of another past starts anew. */
export async function openWatermark(
  dir: string,
  store: Pick<Store, 'identity' | 'read'>,
): Promise<Watermark> {
  const saved = await readSaved(dir);
  if (saved === null) return NOTHING;
  if (saved.identity === store.identity && (await continues(store.read, saved.mark))) return saved;
  const again: Watermark = { mark: null, rewriteTo: END };
  await writeWatermark(dir, store.identity, again);
  return again;
}

export async function writeWatermark(
  dir: string,
  identity: string,
  { mark, rewriteTo }: Watermark,
): Promise<void> {
  // Without a sync of the folder a power cut may bring the older one back: then some work is done twice, harmlessly.
  await replaceFile(fileIn(dir), `${JSON.stringify({ identity, mark, rewriteTo })}\n`);
}

type Saved = Watermark & { readonly identity: string };

async function readSaved(dir: string): Promise<Saved | null> {
  try {
    return JSON.parse(await readFile(fileIn(dir), 'utf8')) as Saved;
  } catch {
    return null;
  }
}

function fileIn(dir: string): string {
  return path.join(dir, 'files.watermark');
}
