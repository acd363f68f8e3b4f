/** What is appended together ends with a seal, its length and checksum: a hole or a changed byte does not go unnoticed. */

import { createReadStream } from 'node:fs';
import { crc32 } from 'node:zlib';

const SEAL_START = '{"seal":';
const NEWLINE = 10;

export class Sealer {
  #bytes = 0;
  #crc = 0;

  add(bytes: Uint8Array): void {
    this.#bytes += bytes.length;
    this.#crc = crc32(bytes, this.#crc);
  }

  /** The line that ends what was added; what comes next is another piece. */
  seal(): string {
    const line = `${SEAL_START}{"bytes":${this.#bytes},"crc32":${this.#crc}}}\n`;
    this.#bytes = 0;
    this.#crc = 0;
    return line;
  }
}

export interface ScannedLine {
  /** Counted from 1. */
  readonly number: number;
  /** Without its newline. */
  readonly bytes: Buffer;
  /** Where the next line begins. */
  readonly end: number;
  /** Whether the line is a seal, and that of the lines before it. */
  readonly seal: 'good' | 'bad' | null;
}

/** All whole lines of a file. */
export async function* scanLines(file: string): AsyncGenerator<ScannedLine> {
  const sealer = new Sealer();
  let number = 0;
  let end = 0;
  for await (const line of wholeLines(file)) {
    number++;
    end += line.length;
    const bytes = line.subarray(0, -1);
    const isSeal = bytes.length < 100 && bytes.toString('latin1').startsWith(SEAL_START);
    if (!isSeal) sealer.add(line);
    const seal = isSeal ? (line.toString('latin1') === sealer.seal() ? 'good' : 'bad') : null;
    yield { number, bytes, end, seal };
  }
}

// Not node:readline: it also splits at U+2028, which JSON leaves as it is.
async function* wholeLines(file: string): AsyncGenerator<Buffer> {
  let rest: Buffer[] = [];
  for await (const chunk of createReadStream(file, { highWaterMark: 1024 * 1024 }) as AsyncIterable<Buffer>) {
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, start)) {
      const piece = chunk.subarray(start, end + 1);
      yield rest.length === 0 ? piece : Buffer.concat([...rest, piece]);
      rest = [];
      start = end + 1;
    }
    if (start < chunk.length) rest.push(chunk.subarray(start));
  }
}
