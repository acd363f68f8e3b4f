/** The files of a folder as a disk has them: what was synced for certain, and the rest as chance will have it. */

import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Random } from '../random.ts';

const SECTOR_BYTES = 512;

type Change =
  | { readonly kind: 'write'; readonly at: number; readonly bytes: Buffer }
  | { readonly kind: 'truncate'; readonly size: number };

/** What becomes of everything that was not synced: it is lost, it is there, or parts of it are. */
export type Fate = 'lost' | 'kept' | 'torn';

class Content {
  #bytes: Buffer;
  #size: number;

  constructor(bytes: Buffer = Buffer.alloc(0)) {
    this.#bytes = bytes;
    this.#size = bytes.length;
  }

  apply(change: Change): void {
    if (change.kind === 'truncate') this.#resize(change.size);
    else this.#write(change.at, change.bytes);
  }

  #write(at: number, bytes: Buffer): void {
    if (at + bytes.length > this.#size) this.#resize(at + bytes.length);
    bytes.copy(this.#bytes, at);
  }

  #resize(size: number): void {
    if (size > this.#bytes.length) {
      const larger = Buffer.alloc(Math.max(size, 2 * this.#bytes.length));
      this.#bytes.copy(larger, 0, 0, this.#size);
      this.#bytes = larger;
    }
    // What lies behind the end reads as zeros when the file grows again.
    if (size < this.#size) this.#bytes.fill(0, size, this.#size);
    this.#size = size;
  }

  copy(): Content {
    return new Content(Buffer.from(this.bytes));
  }

  get bytes(): Buffer {
    return this.#bytes.subarray(0, this.#size);
  }
}

class DiskFile {
  readonly #synced = new Content();
  #pending: Change[] = [];

  change(change: Change): void {
    this.#pending.push(change);
  }

  sync(): void {
    for (const change of this.#pending) this.#synced.apply(change);
    this.#pending = [];
  }

  after(fate: Fate, random: Random): Buffer {
    if (fate === 'lost' || this.#pending.length === 0) return this.#synced.bytes;
    const content = this.#synced.copy();
    for (const change of this.#pending)
      for (const part of fate === 'kept' ? [change] : torn(change, random)) content.apply(part);
    return content.bytes;
  }
}

/** All of a write, nothing of it, or some of its sectors. */
function torn(change: Change, random: Random): readonly Change[] {
  const draw = random.next();
  if (draw < 0.35) return [change];
  if (draw < 0.6 || change.kind === 'truncate') return [];
  const parts: Change[] = [];
  for (let start = 0; start < change.bytes.length; ) {
    const end = start + SECTOR_BYTES - ((change.at + start) % SECTOR_BYTES);
    if (random.chance(0.5))
      parts.push({ kind: 'write', at: change.at + start, bytes: change.bytes.subarray(start, end) });
    start = end;
  }
  return parts;
}

interface NameChange {
  readonly folder: string;
  readonly apply: (names: Map<string, DiskFile>) => void;
}

/** A name is durable once its folder was synced. Those of one folder become so in their order. */
export class Disk {
  readonly #root: string;
  readonly #files = new Map<bigint, DiskFile>();
  readonly #folders = new Map<bigint, string>();
  /** Folders are made at the first start, before anything is acknowledged. */
  readonly #made = new Set<string>();
  readonly #names = new Map<string, DiskFile>();
  readonly #current = new Map<string, DiskFile>();
  #pending: NameChange[] = [];

  constructor(root: string) {
    this.#root = root;
  }

  folder(name: string, inode?: bigint): void {
    this.#made.add(name);
    if (inode !== undefined) this.#folders.set(inode, name);
  }

  create(name: string, inode: bigint): void {
    const file = new DiskFile();
    this.#files.set(inode, file);
    this.#rename(name, (names) => void names.set(name, file));
  }

  change(inode: bigint, change: Change): void {
    this.#files.get(inode)?.change(change);
  }

  sync(inode: bigint): void {
    this.#files.get(inode)?.sync();
    const folder = this.#folders.get(inode);
    if (folder === undefined) return;
    for (const change of this.#pending) if (change.folder === folder) change.apply(this.#names);
    this.#pending = this.#pending.filter((change) => change.folder !== folder);
  }

  rename(from: string, to: string): void {
    const file = this.#current.get(from);
    this.#rename(to, (names) => {
      names.delete(from);
      if (file) names.set(to, file);
    });
  }

  link(from: string, to: string): void {
    const file = this.#current.get(from);
    this.#rename(to, (names) => void (file && names.set(to, file)));
  }

  unlink(name: string): void {
    this.#rename(name, (names) => void names.delete(name));
  }

  #rename(name: string, apply: NameChange['apply']): void {
    apply(this.#current);
    this.#pending.push({ folder: path.dirname(name), apply });
  }

  /** Writes the folder as a cut at this moment may leave it. */
  leave(dir: string, fate: Fate, random: Random): void {
    const names = new Map(this.#names);
    const kept = new Map<string, number>();
    for (const { folder, apply } of this.#pending) {
      if (!kept.has(folder)) {
        const count = this.#pending.filter((change) => change.folder === folder).length;
        kept.set(folder, fate === 'lost' ? 0 : fate === 'kept' ? count : random.int(count + 1));
      }
      const left = kept.get(folder) ?? 0;
      if (left > 0) apply(names);
      kept.set(folder, left - 1);
    }
    mkdirSync(dir, { recursive: true, mode: 0o700 });
    for (const folder of this.#made) mkdirSync(this.#moved(folder, dir), { recursive: true, mode: 0o700 });
    for (const [name, file] of names) {
      // The index of the log lives in memory alone.
      if (name.endsWith('-shm')) continue;
      writeFileSync(this.#moved(name, dir), file.after(fate, random), { mode: 0o600 });
    }
  }

  #moved(name: string, dir: string): string {
    return path.join(dir, path.relative(this.#root, name));
  }
}
