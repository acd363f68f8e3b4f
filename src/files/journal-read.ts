/** Reads a journal from its first line to its last whole one, a line at a time. */

import path from 'node:path';
import { type JournalLine, parseLine } from './journal-line.ts';
import { scanLines } from './journal-seal.ts';
import { listSegments, readEnd } from './journal-segments.ts';

export interface JournalEntry {
  /** File and line, for messages. */
  readonly where: string;
  /** Null when something cannot be read, is not as it was written, or is missing. */
  readonly line: JournalLine | null;
}

/** Whose journal it is, or null when there is none. */
export async function journalIdentity(dir: string): Promise<string | null> {
  return (await readEnd(dir)).identity;
}

export async function* readJournal(dir: string): AsyncGenerator<JournalEntry> {
  const { live, missing } = await listSegments(dir);
  for (const file of missing) yield { where: `${path.basename(file)} (missing)`, line: null };
  for (const { file } of live) yield* readSegment(file);
}

async function* readSegment(file: string): AsyncGenerator<JournalEntry> {
  const name = path.basename(file);
  let first = 1;
  let isTold = false;
  for await (const { number, bytes, seal } of scanLines(file)) {
    if (seal === null) {
      const line = parseLine(bytes.toString('utf8'));
      if (line === null) isTold = true;
      yield { where: `${name}:${number}`, line };
      continue;
    }
    // Lines that can be read and were changed, or taken out.
    if (seal === 'bad' && !isTold) yield { where: `${name}:${first}-${number} (not as written)`, line: null };
    first = number + 1;
    isTold = false;
  }
}
