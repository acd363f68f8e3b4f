/** What people write on the command line, as the values that the server takes. */

import { readFileSync } from 'node:fs';
import { usage } from '../failure.ts';
import type { Session } from '../session.ts';
import { parseDuration, parseTime } from '../text/times.ts';

/** More than any body the server takes. */
const STDIN_LIMIT_BYTES = 300 * 1_048_576;

export async function readStdin({ host }: Session): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of host.stdin) {
    const bytes = Buffer.from(chunk);
    size += bytes.length;
    if (size > STDIN_LIMIT_BYTES) throw usage('Standard input is too large.');
    chunks.push(bytes);
  }
  return Buffer.concat(chunks).toString('utf8');
}

/** JSON where it reads as JSON, else the text itself. */
export async function textOrJson(session: Session, given: string | undefined): Promise<unknown> {
  if (given === undefined) return undefined;
  const text = given === '-' ? (await readStdin(session)).trim() : given;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

export async function json(session: Session, given: string | undefined, name: string): Promise<unknown> {
  if (given === undefined) return undefined;
  return parsed(given === '-' ? await readStdin(session) : given, name);
}

export function parsed(text: string, name: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw usage(`${name} is not JSON: ${(error as Error).message}.`);
  }
}

/** The text of a file, or of standard input. */
export async function fileText(session: Session, file: string): Promise<string> {
  if (file === '-') return await readStdin(session);
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw usage(`${file} cannot be read (${(error as NodeJS.ErrnoException).code ?? 'unknown error'}).`);
  }
}

/** A time from now on, or the time itself, as the server takes it. Without a zone it is one of this machine's. */
export function moment(session: Session, given: string, name: string): string {
  return new Date(momentOfZone(session, given, name)).toISOString();
}

/** The same for what has a zone of its own, by which the server reads a time without one. */
export function momentOfZone(session: Session, given: string, name: string): string {
  const distanceMs = parseDuration(given.replace(/^\+/, ''));
  const at = session.now() + (distanceMs ?? Infinity);
  const time = at <= LAST_MS ? new Date(at).toISOString() : parseTime(given);
  if (time !== null) return time;
  const forms = 'a time like 2026-12-01T09:00 or 2026-12-01T09:00Z, or how far ahead, like 90s or 1h30m';
  throw usage(`${name} must be ${forms}, not ${JSON.stringify(given)}.`);
}

/** The last millisecond that has a date. */
const LAST_MS = 8_640_000_000_000_000;

/** Leaves out what was not given: the server refuses fields that are null. */
export function given<T extends Record<string, unknown>>(fields: T): { [K in keyof T]?: NonNullable<T[K]> } {
  // The entries are the object's own, less those without a value.
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as never;
}
