/** A table of bytes in the database that all servers of an installation share. */

/** Each call is a short statement of its own: neither a slow sender nor a slow reader holds anything. */
export interface PieceTable {
  add(name: string, no: number, bytes: Uint8Array, at: number): Promise<void>;
  /** Null when there is none, or none at this place. */
  piece(name: string, no: number): Promise<Uint8Array | null>;
  /** What all pieces of the name add up to; null when there are none, or when one in between is gone. */
  size(name: string): Promise<number | null>;
  /** In order, between these two. */
  names(after: string, before: string, limit: number): Promise<readonly string[]>;
  /** Removes what was last written to before `before`; answers whether it did. */
  drop(name: string, before: number): Promise<boolean>;
}

/** An upload and a download each hold about two of these. */
export const PIECE_BYTES = 256 * 1024;

/** All pieces of a name, one after another. */
export async function* readPieces(
  table: Pick<PieceTable, 'piece'>,
  name: string,
): AsyncGenerator<Uint8Array> {
  for (let no = 0; ; no++) {
    const piece = await table.piece(name, no);
    if (piece === null) return;
    yield piece;
  }
}
