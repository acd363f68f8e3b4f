/** What a backup consists of, with the sum of every piece and one over itself. */

import type { Kind } from './names.ts';
import { type Place, readText } from './place.ts';
import { type Sum, sumOfText } from './sums.ts';

export interface Manifest {
  readonly format: 1;
  readonly kind: Kind;
  readonly name: string;
  /** Which installation. */
  readonly identity: string;
  /** Of Spine. */
  readonly version: string;
  /** When its copy was begun, in epoch milliseconds. */
  readonly at: number;
  /** Null where the database is a PostgreSQL, which has its own backups. */
  readonly database: Sum | null;
  readonly jobs: number;
  /** The segments, in the pool. */
  readonly journal: readonly (Sum & { readonly file: string })[];
  /** Null where they are in the database. */
  readonly artifacts: FileList | null;
  /** What bots collected. Null where that lies in a bucket, which is not ours to copy. */
  readonly objects: FileList | null;
  /** Files whose bytes were gone or changed when it was made: some of their ids and keys, and how many there are. */
  readonly lost: { readonly count: number; readonly ids: readonly string[] };
}

/** A list of files, one line each: SHA-256, bytes, id or key. The files themselves are in the pool. */
export interface FileList extends Sum {
  readonly count: number;
  readonly bytes: number;
}

/** A journal of some thousand segments takes less. */
const MANIFEST_LIMIT_BYTES = 4 * 1024 * 1024;

export function printManifest(manifest: Manifest): string {
  const sha256 = sumOfText(JSON.stringify(manifest));
  return `${JSON.stringify({ manifest, sha256 }, null, 2)}\n`;
}

/** Null when a single bit of it has changed. */
export function parseManifest(text: string): Manifest | null {
  try {
    const { manifest, sha256 } = JSON.parse(text) as { manifest?: Manifest; sha256?: string };
    return manifest?.format === 1 && sumOfText(JSON.stringify(manifest)) === sha256 ? manifest : null;
  } catch {
    return null;
  }
}

export async function readManifest(place: Place, key: string): Promise<Manifest | null> {
  return parseManifest(await readText(place, key, MANIFEST_LIMIT_BYTES));
}

export interface ListedFile extends Sum {
  /** The id of an artifact, or the key of an object. */
  readonly id: string;
}

export const printFile = ({ sha256, size, id }: ListedFile): string => `${sha256} ${size} ${id}\n`;

/** The lines of a list as they stream by. */
export async function* parseFiles(content: AsyncIterable<Uint8Array>): AsyncGenerator<ListedFile> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of content) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) {
      // Keys may have spaces.
      const [, sha256 = '', size, id = ''] = /^(\S*) (\d*) (.*)$/.exec(line) ?? [];
      yield { sha256, size: Number(size), id };
    }
  }
}
