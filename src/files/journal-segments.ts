/**
 * The journal's files. `000007.jsonl` follows `000006.jsonl`; `000006.base.jsonl` replaces everything up to
 * number 6. Its appearance under that name is the moment of the change, the rest is tidying up.
 */

import { type FileHandle, mkdir, open, readdir, rename, rm, stat, truncate } from 'node:fs/promises';
import path from 'node:path';
import { syncFolder } from '../disk/folder.ts';
import { EVENT_START, type JournalLine, parseLine, printLine } from './journal-line.ts';
import { Sealer, scanLines } from './journal-seal.ts';
import type { Mark } from './feed-mark.ts';

interface Segment {
  readonly number: number;
  readonly isBase: boolean;
  readonly file: string;
}

interface Listing {
  /** In the order in which they are to be read. */
  readonly live: readonly Segment[];
  /** Replaced by a base, or never finished. */
  readonly stale: readonly string[];
  /** Between those that are there, or before them. */
  readonly missing: readonly string[];
}

export async function listSegments(dir: string): Promise<Listing> {
  const names = await readdir(dir).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return [];
    throw error;
  });
  const found = names.flatMap((name): Segment[] => {
    const match = /^(\d{6,15})(\.base)?\.jsonl$/.exec(name);
    return match
      ? [{ number: Number(match[1]), isBase: match[2] !== undefined, file: path.join(dir, name) }]
      : [];
  });
  const base = Math.max(0, ...found.filter((segment) => segment.isBase).map((segment) => segment.number));
  const isLive = ({ number, isBase }: Segment): boolean => number > base || (number === base && isBase);
  const live = found.filter(isLive).toSorted((a, b) => a.number - b.number);
  const unfinished = names.filter((name) => name.endsWith('.tmp')).map((name) => path.join(dir, name));
  const isThere = new Set(live.map(({ number }) => number));
  const upTo = live.at(-1)?.number ?? 0;
  const missing: string[] = [];
  // The first gap tells enough; a folder somebody tampered with may have a gap of any length.
  for (let number = base + 1; number < upTo && missing.length === 0; number++)
    if (!isThere.has(number)) missing.push(segmentFile(dir, number));
  return {
    live,
    missing,
    stale: [...found.filter((segment) => !isLive(segment)).map(({ file }) => file), ...unfinished],
  };
}

export function segmentFile(dir: string, number: number, base = false): string {
  return path.join(dir, `${String(number).padStart(6, '0')}${base ? '.base' : ''}.jsonl`);
}

/**
 * Cuts the last segment off behind its last good seal. What follows was under way when the writer ended: a power cut
 * may have left a hole in it, before lines that are whole. The database has it all, and it is written again.
 */
export async function mendEnd(dir: string): Promise<void> {
  const last = (await listSegments(dir)).live.at(-1);
  if (last === undefined || last.isBase) return;
  let goodEnd = 0;
  for await (const { end, seal } of scanLines(last.file)) {
    if (seal === 'bad') break;
    if (seal === 'good') goodEnd = end;
  }
  await truncate(last.file, goodEnd);
}

/** The journal's end: where to append, and the last event that is in it. */
export class Segments {
  readonly dir: string;
  readonly #header: string;
  readonly #sealer = new Sealer();
  #number: number;
  #handle: FileHandle | null = null;
  #size = 0;
  /** Whether files that were written before are no longer there. */
  #isLost = false;
  /** The last file, and which one it is. */
  #last: { readonly file: string; readonly inode: number } | null = null;

  private constructor(dir: string, identity: string, number: number) {
    this.dir = dir;
    this.#header = printLine({ spine: 1, identity });
    this.#number = number;
  }

  static async open(dir: string, identity: string): Promise<Segments> {
    await mkdir(dir, { recursive: true, mode: 0o700 });
    const { live, stale, missing } = await listSegments(dir);
    for (const file of stale) await rm(file, { force: true });
    const last = live.at(-1);
    const segments = new Segments(dir, identity, last?.number ?? 0);
    segments.#isLost = missing.length > 0;
    if (last) segments.#last = { file: last.file, inode: (await stat(last.file)).ino };
    if (last && !last.isBase) await segments.#resume(last.file);
    return segments;
  }

  /** Whether something that was written is gone: then a base has to bring it back. */
  async isLost(): Promise<boolean> {
    if (this.#last !== null && (await stat(this.#last.file).catch(() => null))?.ino !== this.#last.inode) {
      await this.close();
      this.#last = null;
      this.#isLost = true;
    }
    return this.#isLost;
  }

  /** A base holds everything up to here. */
  isWhole(): void {
    this.#isLost = false;
  }

  get number(): number {
    return this.#number;
  }

  get size(): number {
    return this.#size;
  }

  /** Durable when this resolves with the bytes written. After a failure nothing more goes to that file: what reached the disk is unknown. */
  async append(texts: AsyncIterable<string>): Promise<number> {
    let written = 0;
    try {
      const handle = this.#handle ?? (await this.startNext());
      for await (const text of texts) {
        const bytes = Buffer.from(text);
        await handle.appendFile(bytes);
        this.#sealer.add(bytes);
        written += bytes.length;
      }
      const seal = this.#sealer.seal();
      await handle.appendFile(seal);
      written += seal.length;
      await handle.datasync();
    } catch (error) {
      await this.close().catch(() => undefined);
      throw error;
    }
    this.#size += written;
    return written;
  }

  async startNext(): Promise<FileHandle> {
    await this.isLost();
    await this.close();
    const number = this.#number + 1;
    // Not what is above it: a data dir that is gone must not come back empty.
    await mkdir(this.dir, { mode: 0o700 }).catch(unlessThere);
    const file = segmentFile(this.dir, number);
    const handle = await open(file, 'ax', 0o600);
    this.#number = number;
    this.#handle = handle;
    this.#last = { file, inode: (await handle.stat()).ino };
    await this.#writeHeader(handle);
    await handle.datasync();
    await syncFolder(this.dir);
    return handle;
  }

  async close(): Promise<void> {
    const handle = this.#handle;
    this.#handle = null;
    await handle?.close();
  }

  /** Goes on with the last segment of an earlier run, which was mended. */
  async #resume(file: string): Promise<void> {
    const handle = await open(file, 'a', 0o600);
    this.#handle = handle;
    this.#size = (await handle.stat()).size;
    if (this.#size === 0) await this.#writeHeader(handle);
  }

  async #writeHeader(handle: FileHandle): Promise<void> {
    const header = Buffer.from(this.#header);
    await handle.appendFile(header);
    this.#sealer.seal();
    this.#sealer.add(header);
    this.#size = header.length;
  }
}

function unlessThere(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EEXIST') throw error;
}

/** Puts a finished base in place of all segments up to its number. */
export async function putBase(dir: string, temp: string, number: number): Promise<void> {
  await rename(temp, segmentFile(dir, number, true));
  await syncFolder(dir);
  const { stale } = await listSegments(dir);
  for (const file of stale) await rm(file, { force: true });
}

export interface JournalEnd {
  readonly identity: string | null;
  readonly mark: Mark | null;
  readonly bytes: number;
  /** What was alive when the journal was last rewritten. */
  readonly baseBytes: number;
}

/** The last event in the journal, and whose journal it is. */
export async function readEnd(dir: string): Promise<JournalEnd> {
  const { live } = await listSegments(dir);
  let bytes = 0;
  let baseBytes = 0;
  let mark: Mark | null = null;
  let identity: string | null = null;
  for (const { file, isBase } of live.toReversed()) {
    const handle = await open(file, 'r');
    try {
      const { size } = await handle.stat();
      bytes += size;
      if (isBase) baseBytes = size;
      mark ??= await lastMark(handle);
      identity = (await firstIdentity(handle)) ?? identity;
    } finally {
      await handle.close();
    }
  }
  return { identity, mark, bytes, baseBytes };
}

async function firstIdentity(handle: FileHandle): Promise<string | null> {
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(1024), 0, 1024, 0);
  const line = parseLine(buffer.toString('utf8', 0, bytesRead).split('\n', 1)[0] ?? '');
  return line && 'spine' in line ? line.identity : null;
}

const NEWLINE = 10;
const FIRST_LOOK_BYTES = 64 * 1024;

async function endOfLastLine(handle: FileHandle): Promise<number> {
  const { size } = await handle.stat();
  for (let look = FIRST_LOOK_BYTES; ; look *= 4) {
    const tail = await readTail(handle, size, look);
    const newline = tail.lastIndexOf(NEWLINE);
    if (newline >= 0) return size - tail.length + newline + 1;
    if (tail.length === size) return 0;
  }
}

/** Looks further and further back for a complete line that has a place. */
async function lastMark(handle: FileHandle): Promise<Mark | null> {
  const size = await endOfLastLine(handle);
  for (let look = FIRST_LOOK_BYTES; ; look *= 4) {
    const tail = await readTail(handle, size, look);
    const lines = tail.toString('utf8').split('\n');
    // The first piece may be the rest of a line that starts further back.
    if (tail.length < size) lines.shift();
    const text = lines.findLast((line) => line.startsWith(EVENT_START));
    const line: JournalLine | null = text === undefined ? null : parseLine(text);
    if (line && 'pos' in line) {
      const { pos, ordinal, event } = line;
      return { pos, ordinal, jobNo: event.jobNo, seq: event.seq, at: event.at };
    }
    if (tail.length === size) return null;
  }
}

async function readTail(handle: FileHandle, size: number, bytes: number): Promise<Buffer> {
  const length = Math.min(size, bytes);
  const tail = Buffer.alloc(length);
  await handle.read(tail, 0, length, size - length);
  return tail;
}
