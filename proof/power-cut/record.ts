/** Reads what the shim wrote down. */

import { closeSync, openSync, readSync, statSync } from 'node:fs';
import type { Disk } from './disk.ts';

const HEAD_BYTES = 21;
const OPEN = 1;
const WRITE = 2;
const TRUNCATE = 3;
const SYNC = 4;
const RENAME = 5;
const UNLINK = 6;
const MKDIR = 7;
const LINK = 9;
const CREATED = 1;
const EMPTIED = 2;
const FOLDER = 4;

export class Recording {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(file: string) {
    const { size } = statSync(file);
    this.#bytes = Buffer.alloc(size);
    const handle = openSync(file, 'r');
    for (let read = 0; read < size; ) read += readSync(handle, this.#bytes, read, size - read, read);
    closeSync(handle);
  }

  get length(): number {
    return this.#bytes.length;
  }

  /** Plays all that was written down before this place; answers where it came to. */
  playTo(place: number, disk: Disk): number {
    for (;;) {
      if (this.#at + HEAD_BYTES > this.#bytes.length) return this.#at;
      const length = this.#bytes.readUInt32LE(this.#at + 17);
      const end = this.#at + HEAD_BYTES + length;
      if (end > Math.min(place, this.#bytes.length)) return this.#at;
      this.#play(disk, this.#bytes.subarray(this.#at + HEAD_BYTES, end));
      this.#at = end;
    }
  }

  #play(disk: Disk, data: Buffer): void {
    const op = this.#bytes.readUInt8(this.#at);
    const inode = this.#bytes.readBigUInt64LE(this.#at + 1);
    const number = Number(this.#bytes.readBigUInt64LE(this.#at + 9));
    if (op === WRITE) return disk.change(inode, { kind: 'write', at: number, bytes: data });
    if (op === TRUNCATE) return disk.change(inode, { kind: 'truncate', size: number });
    if (op === SYNC) return disk.sync(inode);
    const [name = '', to = ''] = data.toString('utf8').split('\n');
    if (op === OPEN) open(disk, name, inode, number);
    if (op === RENAME) disk.rename(name, to);
    if (op === LINK) disk.link(name, to);
    if (op === UNLINK) disk.unlink(name);
    if (op === MKDIR) disk.folder(name);
  }
}

function open(disk: Disk, name: string, inode: bigint, flags: number): void {
  if ((flags & FOLDER) !== 0) return disk.folder(name, inode);
  if ((flags & CREATED) !== 0) disk.create(name, inode);
  else if ((flags & EMPTIED) !== 0) disk.change(inode, { kind: 'truncate', size: 0 });
}
