/** Objects in pieces in the database that all servers of an installation share. */

import { SpineError } from '../domain/error.ts';
import { PIECE_BYTES, type PieceTable, readPieces } from '../domain/piece-table.ts';
import type { ObjectStore } from './objects.ts';

const PREFIX = 'objects/';

export function databaseObjects(table: PieceTable, dataPrefix: string, now: () => number): ObjectStore {
  const remove = async (key: string): Promise<void> => {
    await table.drop(`${PREFIX}${key}`, Infinity);
  };
  return {
    dataPrefix,
    put: (key, bytes) =>
      asStorage(async () => {
        await remove(key);
        try {
          for (let at = 0, no = 0; no === 0 || at < bytes.length; at += PIECE_BYTES, no++)
            await table.add(`${PREFIX}${key}`, no, bytes.subarray(at, at + PIECE_BYTES), now());
        } catch (error) {
          // What cannot be removed now goes when its announced record does.
          await remove(key).catch(() => undefined);
          throw error;
        }
      }),
    open: (key) =>
      asStorage(async () => {
        const size = await table.size(`${PREFIX}${key}`);
        return size === null ? null : readPieces(table, `${PREFIX}${key}`);
      }),
    remove: (key) => asStorage(() => remove(key)),
  };
}

/** To callers it is a storage like any other. */
async function asStorage<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof SpineError && error.code === 'disk_full') throw error;
    throw new SpineError('storage_unavailable', {}, { cause: error });
  }
}
