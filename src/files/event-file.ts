/** events/<id>.jsonl: one line per event, appended once each, whatever was killed in between. */

import { type FileHandle, open } from 'node:fs/promises';
import type { JobEvent } from '../domain/event.ts';
import type { Reads } from '../store/store.ts';
import { replaceFile } from './atomic.ts';
import { eventLine } from './job-document.ts';

const NEWLINE = 10;
const FIRST_LOOK_BYTES = 4 * 1024;
const PAGE_EVENTS = 1_000;

/** Appends what the file lacks; answers the last number in it, or null when lines before these are missing. */
export async function appendEvents(
  file: string,
  events: readonly JobEvent[],
  knownSeq: number | null,
): Promise<number | null> {
  const handle = await open(file, 'a+', 0o600);
  try {
    const lastSeq = knownSeq ?? (await repairEnd(handle));
    const missing = events.filter((event) => event.seq > lastSeq);
    const [first] = missing;
    if (first === undefined) return lastSeq;
    if (first.seq !== lastSeq + 1) return null;
    await handle.appendFile(missing.map(eventLine).join(''));
    await handle.datasync();
    return missing.at(-1)?.seq ?? lastSeq;
  } finally {
    await handle.close();
  }
}

/** Writes the whole history anew from the database. */
export async function rewriteEvents(file: string, read: Pick<Reads, 'feed'>, jobNo: number): Promise<number> {
  let seq = 0;
  await replaceFile(file, async (handle) => {
    for (;;) {
      const page = await read.feed.ofJob(jobNo, seq, PAGE_EVENTS);
      await handle.appendFile(page.map(eventLine).join(''));
      seq = page.at(-1)?.seq ?? seq;
      if (page.length < PAGE_EVENTS) return;
    }
  });
  return seq;
}

/** Cuts off a line that a crash left half written, and answers the number of the last whole one. */
async function repairEnd(handle: FileHandle): Promise<number> {
  const { size } = await handle.stat();
  for (let look = FIRST_LOOK_BYTES; ; look *= 8) {
    const tail = Buffer.alloc(Math.min(size, look));
    await handle.read(tail, 0, tail.length, size - tail.length);
    const end = tail.lastIndexOf(NEWLINE) + 1;
    const start = end < 2 ? 0 : tail.lastIndexOf(NEWLINE, end - 2) + 1;
    const isWhole = start > 0 || tail.length === size;
    if (!isWhole) continue;
    if (end < tail.length) await handle.truncate(size - tail.length + end);
    if (end === 0) return 0;
    return seqOf(tail.toString('utf8', start, end)) ?? (await countLines(handle));
  }
}

function seqOf(line: string): number | null {
  try {
    const { seq } = JSON.parse(line) as { seq?: unknown };
    return typeof seq === 'number' ? seq : null;
  } catch {
    return null;
  }
}

/** Lines that v0 wrote have no number: the import gave each its place in the file. */
async function countLines(handle: FileHandle): Promise<number> {
  const { size } = await handle.stat();
  const text = Buffer.alloc(size);
  await handle.read(text, 0, size, 0);
  return text
    .toString('utf8')
    .split('\n')
    .filter((line) => line.trim() !== '').length;
}
