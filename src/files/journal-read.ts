/** Reads a journal from its first line to its last whole one, a line at a time. */

import { createReadStream } from 'node:fs';
import path from 'node:path';
import { type JournalLine, parseLine } from './journal-line.ts';
import { listSegments, readEnd } from './journal-segments.ts';

export interface JournalEntry {
  /** File and line, for messages. */
  readonly where: string;
  /** Null when the line cannot be read. */
  readonly line: JournalLine | null;
}

/** Whose journal it is, or null when there is none. */
export async function journalIdentity(dir: string): Promise<string | null> {
  return (await readEnd(dir)).identity;
}

export async function* readJournal(dir: string): AsyncGenerator<JournalEntry> {
  const { live } = await listSegments(dir);
  for (const { file } of live) {
    let number = 0;
    for await (const text of wholeLines(file)) {
      number++;
      yield { where: `${path.basename(file)}:${number}`, line: parseLine(text) };
    }
  }
}

// Not node:readline: it also splits at U+2028, which JSON leaves as it is.
async function* wholeLines(file: string): AsyncGenerator<string> {
  let rest: Buffer[] = [];
  for await (const chunk of createReadStream(file, { highWaterMark: 1024 * 1024 }) as AsyncIterable<Buffer>) {
    let start = 0;
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, start)) {
      rest.push(chunk.subarray(start, end));
      yield Buffer.concat(rest).toString('utf8');
      rest = [];
      start = end + 1;
    }
    if (start < chunk.length) rest.push(chunk.subarray(start));
  }
}
