/** What a program prints: whole lines for the log, and its beginning and end to keep. Both are bounded. */

import { KeptOutput } from '../kept-output.ts';
import type { Say } from './session.ts';

const KEPT_BYTES = 65_536;
/** Where the whole of it is read as one value. */
export const WHOLE_BYTES = 8_388_608;
/** For the log of one session. */
const LOG_LINES = 20_000;
const LOG_BYTES = 8_388_608;
/** A longer line is passed on in pieces, which the log of a job takes whole. */
const LINE_CHARS = 8_192;

export class SessionOutput {
  readonly #say: Say;
  readonly #kept: { readonly stdout: KeptOutput; readonly stderr: KeptOutput };
  readonly #rest = { stdout: '', stderr: '' };
  readonly #decoders = { stdout: new TextDecoder(), stderr: new TextDecoder() };
  #lines = 0;
  #bytes = 0;

  /** `keptBytes` of its standard output are kept. */
  constructor(say: Say, keptBytes = KEPT_BYTES) {
    this.#say = say;
    this.#kept = { stdout: new KeptOutput(keptBytes), stderr: new KeptOutput(KEPT_BYTES) };
  }

  readonly add = (chunk: Buffer, from: 'stdout' | 'stderr'): void => {
    this.#kept[from].add(chunk);
    // What nobody will read is not taken apart: a program that floods would slow down the sessions beside it.
    if (this.#isFull) return;
    const text = this.#rest[from] + this.#decoders[from].decode(chunk, { stream: true });
    const lines = text.split('\n');
    this.#rest[from] = lines.pop() ?? '';
    for (const line of lines) this.#log(line, from);
    // One that never ends is not waited for.
    const pieces = piecesOf(this.#rest[from]);
    this.#rest[from] = pieces.pop() ?? '';
    for (const piece of pieces) this.#logPiece(piece, from);
  };

  /** What was printed without an end of line. */
  flush(): void {
    for (const from of ['stdout', 'stderr'] as const) {
      this.#log(this.#rest[from], from);
      this.#rest[from] = '';
    }
  }

  get stdout(): string {
    return this.#kept.stdout.toString();
  }

  get stderr(): string {
    return this.#kept.stderr.toString();
  }

  get #isFull(): boolean {
    return this.#lines > LOG_LINES || this.#bytes > LOG_BYTES;
  }

  #log(line: string, from: 'stdout' | 'stderr'): void {
    for (const piece of piecesOf(line)) this.#logPiece(piece, from);
  }

  #logPiece(line: string, from: 'stdout' | 'stderr'): void {
    if (line === '' || this.#isFull) return;
    this.#lines += 1;
    this.#bytes += line.length;
    this.#say(
      this.#isFull ? '[... the rest of the output is left out ...]' : line,
      from === 'stdout' ? 'info' : 'warn',
    );
  }
}

/** No character is cut in halves. */
function piecesOf(line: string): string[] {
  const pieces: string[] = [];
  for (let at = 0; at < line.length; ) {
    const end = Math.min(at + LINE_CHARS, line.length);
    const isHalf = end < line.length && /[\uD800-\uDBFF]/.test(line.charAt(end - 1));
    pieces.push(line.slice(at, isHalf ? end - 1 : end));
    at = isHalf ? end - 1 : end;
  }
  return pieces;
}
