/** Finds out what a file is, and reads it. */

import { closeSync, openSync, readFileSync, readSync, statSync } from 'node:fs';
import { usage } from '../failure.ts';
import { readCrontab } from './crontab.ts';
import type { Source } from './foreign.ts';
import { readOpenClaw } from './openclaw.ts';
import { readSchedulerDatabase } from './scheduler-database.ts';

const TEXT_BYTES = 16 * 1_048_576;
const SQLITE = 'SQLite format 3\0';

export async function readSource(file: string, nowMs: number): Promise<Source> {
  const zone = new Intl.DateTimeFormat().resolvedOptions().timeZone;
  if (beginningOf(file) === SQLITE) return await readSchedulerDatabase(file, nowMs);
  const text = readFileSync(file, 'utf8');
  const json = jsonIn(text);
  const source = json === undefined ? readCrontab(text, zone) : readOpenClaw(json, zone);
  if (source !== null) return source;
  throw usage(
    `${file} is nothing that can be imported.`,
    "Name OpenClaw's cron/jobs.json, a scheduler's SQLite database, or what crontab -l printed.",
  );
}

function beginningOf(file: string): string {
  try {
    const stats = statSync(file);
    if (!stats.isFile()) throw usage(`${file} is no file.`);
    const handle = openSync(file, 'r');
    try {
      const bytes = Buffer.alloc(SQLITE.length);
      readSync(handle, bytes, 0, bytes.length, 0);
      const text = bytes.toString('latin1');
      if (text !== SQLITE && stats.size > TEXT_BYTES) throw usage(`${file} is too large to be imported.`);
      return text;
    } finally {
      closeSync(handle);
    }
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === undefined || code === 'usage') throw error;
    throw usage(`${file} cannot be read (${code}).`);
  }
}

function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
