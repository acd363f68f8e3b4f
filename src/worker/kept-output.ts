/** What a command printed: the beginning and the end, when it was too much to keep. */

export class KeptOutput {
  readonly #headBytes: number;
  readonly #tailBytes: number;
  readonly #head: Buffer[] = [];
  #tail: Buffer[] = [];
  #inHead = 0;
  #inTail = 0;
  #total = 0;

  constructor(limitBytes: number) {
    this.#headBytes = Math.floor(limitBytes / 2);
    this.#tailBytes = limitBytes - this.#headBytes;
  }

  add(chunk: Buffer): void {
    this.#total += chunk.length;
    const forHead = chunk.subarray(0, this.#headBytes - this.#inHead);
    if (forHead.length > 0) this.#head.push(forHead);
    this.#inHead += forHead.length;
    const rest = chunk.subarray(forHead.length);
    if (rest.length === 0) return;
    this.#tail.push(rest);
    this.#inTail += rest.length;
    // Put together now and then only, so that many small pieces do not cost a copy each.
    if (this.#inTail > 2 * this.#tailBytes) this.#shorten();
  }

  toString(): string {
    this.#shorten();
    const left = this.#total - this.#inHead - this.#inTail;
    const parts = [...this.#head, ...(left > 0 ? [marker(left)] : []), ...this.#tail];
    return Buffer.concat(parts).toString('utf8');
  }

  #shorten(): void {
    const tail = Buffer.concat(this.#tail).subarray(-this.#tailBytes);
    this.#tail = [Buffer.from(tail)];
    this.#inTail = tail.length;
  }
}

function marker(bytes: number): Buffer {
  return Buffer.from(`\n[... ${bytes} bytes left out ...]\n`);
}
