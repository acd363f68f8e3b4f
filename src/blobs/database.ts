/** Blobs in pieces in the database that all servers of an installation share, so that each serves what any of them took. */

import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { SpineError } from '../domain/error.ts';
import { type PieceTable, readPieces } from '../domain/piece-table.ts';
import type { BlobStore, StoredBytes, StoredFile } from './blobs.ts';
import { piecesOf } from './pieces.ts';

export interface DatabaseOptions {
  readonly table: PieceTable;
  readonly newId: () => string;
  readonly now: () => number;
}

const PREFIX = 'blobs/';
/** The character behind the slash: no name of ours comes later. */
const END = 'blobs0';
/** Of the names of forgotten ones. */
const PAGE = 500;

export function databaseBlobs({ table, newId, now }: DatabaseOptions): BlobStore {
  const content = (id: string): AsyncGenerator<Uint8Array> => readPieces(table, `${PREFIX}${id}`);
  return {
    put: (bytes, limitBytes) => put(table, newId(), { bytes, limitBytes, now }),
    async open(id) {
      const size = await table.size(`${PREFIX}${id}`);
      if (size === null) return null;
      // One piece ahead of the reader, not sixteen.
      return { size, content: Readable.from(content(id), { highWaterMark: 1 }) };
    },
    async sha256(id) {
      if ((await table.size(`${PREFIX}${id}`)) === null) return null;
      const hash = createHash('sha256');
      for await (const bytes of content(id)) hash.update(bytes);
      return hash.digest('hex');
    },
    async remove(id) {
      await table.drop(`${PREFIX}${id}`, Infinity);
    },
    files: () => files(table),
    drop: (name, before) => table.drop(name, before),
  };
}

interface Upload {
  readonly bytes: AsyncIterable<Uint8Array>;
  readonly limitBytes: number;
  readonly now: () => number;
}

async function put(table: PieceTable, id: string, { bytes, limitBytes, now }: Upload): Promise<StoredBytes> {
  const name = `${PREFIX}${id}`;
  const hash = createHash('sha256');
  let size = 0;
  let no = 0;
  try {
    for await (const piece of piecesOf(bytes)) {
      size += piece.length;
      if (size > limitBytes) throw tooLarge(limitBytes);
      hash.update(piece);
      await table.add(name, no++, piece, now());
    }
  } catch (error) {
    // What cannot be removed now, the sweeper finds.
    if (no > 0) await table.drop(name, Infinity).catch(() => undefined);
    throw error;
  }
  return { id, size, sha256: hash.digest('hex'), path: `database:${name}` };
}

function tooLarge(limitBytes: number): SpineError {
  const message = `The file is larger than ${limitBytes} bytes.`;
  return new SpineError('too_large', { limitBytes }, { message });
}

/** An upload under way looks like one that nobody recorded: what was written to lately is left alone. */
async function* files(table: PieceTable): AsyncGenerator<StoredFile> {
  for (let after = PREFIX; ; ) {
    const names = await table.names(after, END, PAGE);
    for (const name of names) yield { id: name.slice(PREFIX.length), name, isPart: false };
    const last = names.at(-1);
    if (last === undefined) return;
    after = last;
  }
}
