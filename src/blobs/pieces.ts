/** Cuts a stream into pieces of one size, so that a table holds few rows and a server little memory. */
import { PIECE_BYTES } from '../domain/piece-table.ts';

/** All but the last have that size. Nothing at all is one empty piece: that, too, was stored. */
export async function* piecesOf(
  content: AsyncIterable<Uint8Array>,
  pieceBytes = PIECE_BYTES,
): AsyncGenerator<Uint8Array> {
  let piece = Buffer.allocUnsafe(pieceBytes);
  let filled = 0;
  let any = false;
  for await (const chunk of content) {
    for (let at = 0; at < chunk.length; ) {
      const part = chunk.subarray(at, at + pieceBytes - filled);
      piece.set(part, filled);
      filled += part.length;
      at += part.length;
      if (filled < pieceBytes) continue;
      yield piece;
      any = true;
      // The one before may still be on its way.
      piece = Buffer.allocUnsafe(pieceBytes);
      filled = 0;
    }
  }
  if (filled > 0 || !any) yield piece.subarray(0, filled);
}
