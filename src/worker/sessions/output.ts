/** What a program prints: whole lines for the log, and its beginning and end to keep. Both are bounded. */

import { KeptOutput } from '../kept-output.ts';
import type { Say } from './session.ts';

const KEPT_BYTES = 65_536;
/** For the log of one session. */
const LOG_LINES = 20_000;
const LOG_BYTES = 8_388_608;
/** A line that never ends is passed on in pieces. */
const LINE_BYTES = 8_192;

export class SessionOutput {
  readonly #say: Say;
  readonly #kept = { stdout: new KeptOutput(KEPT_BYTES), stderr: new KeptOutput(KEPT_BYTES) };
  readonly #rest = { stdout: '', stderr: '' };
  readonly #decoders = { stdout: new TextDecoder(), stderr: new TextDecoder() };
  #lines = 0;
  #bytes = 0;

  constructor(say: Say) {
    this.#say = say;
  }

  readonly add = (chunk: Buffer, from: 'stdout' | 'stderr'): void => {
    this.#kept[from].add(chunk);
    const text = this.#rest[from] + this.#decoders[from].decode(chunk, { stream: true });
    const lines = text.split('\n');
    this.#rest[from] = lines.pop() ?? '';
    if (this.#rest[from].length > LINE_BYTES) {
      lines.push(this.#rest[from]);
      this.#rest[from] = '';
    }
    for (const line of lines) this.#log(line, from);
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

  #log(line: string, from: 'stdout' | 'stderr'): void {
    if (line === '' || this.#lines > LOG_LINES || this.#bytes > LOG_BYTES) return;
    this.#lines += 1;
    this.#bytes += line.length;
    const isFull = this.#lines > LOG_LINES || this.#bytes > LOG_BYTES;
    this.#say(
      isFull ? '[... the rest of the output is left out ...]' : line,
      from === 'stdout' ? 'info' : 'warn',
    );
  }
}
