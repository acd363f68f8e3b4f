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
  /** The list of artifacts, one line each: SHA-256, bytes, id. The files themselves are in the pool. */
  readonly artifacts: Sum & { readonly count: number; readonly bytes: number };
  /** Artifacts whose bytes were gone or changed when it was made: some of their ids, and how many there are. */
  readonly lost: { readonly count: number; readonly ids: readonly string[] };
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

export interface Artifact extends Sum {
  readonly id: string;
}

export const printArtifact = ({ sha256, size, id }: Artifact): string => `${sha256} ${size} ${id}\n`;

/** The lines of a list as they stream by. */
export async function* parseArtifacts(content: AsyncIterable<Uint8Array>): AsyncGenerator<Artifact> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of content) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) {
      const [sha256 = '', size, id = ''] = line.split(' ');
      yield { sha256, size: Number(size), id };
    }
  }
}
