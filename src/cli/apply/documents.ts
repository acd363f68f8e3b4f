/** Schedules, types and pools as files say them: YAML or JSON, one or several to a file. Everything is bounded. */

import { readdirSync, readFileSync, statSync } from 'node:fs';
import { basename, extname, join, relative, resolve } from 'node:path';
import { CliError, EXIT, usage } from '../failure.ts';

const FILES = 1_000;
const FILE_BYTES = 1_048_576;
const ALL_BYTES = 16 * FILE_BYTES;
/** A document that repeats parts of itself by name may do so this often: more is an attack on memory. */
const ALIASES = 100;
const ENDINGS = ['.yaml', '.yml', '.json'];

export type Kind = 'schedule' | 'type' | 'pool';

export interface Kept {
  readonly kind: Kind;
  /** For people: `ops.yaml, document 2`. */
  readonly place: Place;
  readonly fields: Readonly<Record<string, unknown>>;
}

export interface Place {
  readonly file: string;
  /** Counted from 1 within the file. */
  readonly document: number;
}

export interface Fault extends Place {
  readonly field: string | null;
  readonly problem: string;
}

export interface Documents {
  readonly kept: readonly Kept[];
  readonly faults: readonly Fault[];
}

export interface Source {
  readonly file: string;
  readonly text: string;
}

/** The files of a folder and of those in it, in the order of their names; hidden ones are left out. */
export function sourcesIn(path: string): Source[] {
  const root = resolve(path);
  const files = filesAt(root, path);
  if (files.length > FILES) throw usage(`${path} holds more than ${FILES} files.`, 'Name a smaller folder.');
  let bytes = 0;
  return files.map((file) => {
    const { size } = statSync(file);
    bytes += size;
    const shown = file === root ? basename(file) : relative(root, file);
    if (size > FILE_BYTES) throw usage(`${shown} is larger than ${FILE_BYTES} bytes.`, 'Split it.');
    if (bytes > ALL_BYTES) throw usage(`The files are larger than ${ALL_BYTES} bytes together.`);
    return { file: shown, text: readFileSync(file, 'utf8') };
  });
}

function filesAt(root: string, written: string): string[] {
  try {
    if (statSync(root).isFile()) return [root];
    const found = readdirSync(root, { recursive: true, withFileTypes: true });
    const files = found
      .map((entry) => join(entry.parentPath, entry.name))
      .filter((file) => ENDINGS.includes(extname(file)) && !isHidden(relative(root, file)))
      .filter((file) => statSync(file).isFile())
      .toSorted();
    if (files.length === 0) throw usage(`${written} holds no .yaml, .yml or .json file.`);
    return files;
  } catch (error) {
    if (error instanceof CliError) throw error;
    const { code = 'unknown error' } = error as NodeJS.ErrnoException;
    throw new CliError(EXIT.usage, 'usage', `${written} cannot be read (${code}).`);
  }
}

function isHidden(path: string): boolean {
  return path.split(/[\\/]/).some((part) => part.startsWith('.'));
}

export async function documentsOf(sources: readonly Source[]): Promise<Documents> {
  const kept: Kept[] = [];
  const faults: Fault[] = [];
  for (const source of sources) {
    let document = 0;
    for (const value of await valuesOf(source, faults)) {
      // A list is as many documents as it has entries.
      for (const each of Array.isArray(value) ? (value as unknown[]) : [value]) {
        document += 1;
        const read = keptOf({ file: source.file, document }, each);
        if ('kind' in read) kept.push(read);
        else faults.push(read);
      }
    }
  }
  return { kept, faults };
}

async function valuesOf({ file, text }: Source, faults: Fault[]): Promise<unknown[]> {
  // Loaded only here: no other command needs it.
  const { parseAllDocuments } = await import('yaml');
  const fault = (document: number, problem: string): void =>
    void faults.push({ file, document, field: null, problem: `cannot be read: ${firstLine(problem)}` });
  try {
    // JSON is YAML, too.
    const documents = parseAllDocuments(text, { prettyErrors: true, logLevel: 'silent' });
    return [...documents].flatMap((document, index) => {
      const [error] = document.errors;
      if (error !== undefined) fault(index + 1, error.message);
      const value = error === undefined ? (document.toJS({ maxAliasCount: ALIASES }) as unknown) : null;
      return value === null ? [] : [value];
    });
  } catch (error) {
    // Too many aliases, or nested so deep that it cannot be walked.
    fault(1, error instanceof Error ? error.message : String(error));
    return [];
  }
}

function firstLine(text: string): string {
  return (text.split('\n')[0] ?? '').replace(/:$/, '');
}

function keptOf(place: Place, value: unknown): Kept | Fault {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return { ...place, field: null, problem: 'is no object; write fields such as name and schedule_cron' };
  const { kind = 'schedule', ...fields } = value as Record<string, unknown>;
  if (kind !== 'schedule' && kind !== 'type' && kind !== 'pool')
    return { ...place, field: 'kind', problem: 'kind must be schedule, type or pool' };
  if (typeof fields['name'] !== 'string' || fields['name'] === '')
    return { ...place, field: 'name', problem: 'name is missing' };
  return { kind, place, fields };
}
