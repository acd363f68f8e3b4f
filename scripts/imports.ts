// Says which imports in src/ the import table does not allow, and which of its allowances nothing needs.
import { globSync, readFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { join, posix } from 'node:path';
import { EVERYTHING, IMPORT_TABLE } from './import-table.ts';

export interface Source {
  readonly file: string;
  readonly text: string;
}

interface Import {
  readonly file: string;
  readonly line: number;
  readonly from: string;
  /** What is imported, as the table writes it: a part, a package, or a module of Node with `node:`. */
  readonly to: string;
}

const OUTSIDE = 'a file outside src/';
const TYPES = 'types of ';
const root = join(import.meta.dirname, '..');

if (import.meta.main) {
  const imports = readSources().flatMap(importsOf);
  for (const problem of [...imports.flatMap(violations), ...needless(imports)]) {
    console.error(problem);
    process.exitCode = 1;
  }
}

export function readSources(): readonly Source[] {
  return globSync('src/**/*.ts', { cwd: root }).map((path) => ({
    file: path.replaceAll('\\', '/'),
    text: readFileSync(join(root, path), 'utf8'),
  }));
}

export function importsOf({ file, text }: Source): readonly Import[] {
  const code = withoutComments(text);
  const statements = code.matchAll(
    /(?:^\s*(?:import|export)\s+(?<erased>type\s)?[\w\s{},*$]*?\bfrom|^\s*import|\bimport\s*\()\s*(['"])(?<target>[^'"\n]+)\2/gm,
  );
  return [...statements].map(({ index, 0: whole, groups = {} }) => {
    const { erased, target = '' } = groups;
    const from = partOf(file);
    const to = importedBy(file, target);
    const ofTypes = isPackage(target) || allowedIn(from)?.includes(`${TYPES}${to}`);
    return {
      file,
      line: lineAt(code, index + whole.length),
      from,
      to: `${erased !== undefined && ofTypes ? TYPES : ''}${to}`,
    };
  });
}

export function violations({ file, line, from, to }: Import): readonly string[] {
  if (EVERYTHING.includes(from) || from === to) return [];
  const allowed = allowedIn(from);
  if (allowed === undefined) return [`${file}:${line}: ${from} has no row in the import table`];
  // Who may run a package's code may know its types.
  if (allowed.includes(rowOf(to)) || allowed.includes(to.replace(TYPES, ''))) return [];
  return [`${file}:${line}: ${from} may not import ${to}`];
}

/** Allowances that no import needs: a table that allows more than there is says less than it could. */
export function needless(imports: readonly Import[]): readonly string[] {
  return Object.keys(IMPORT_TABLE).flatMap((part) => {
    const used = new Set(imports.filter(({ from }) => rowOf(from) === part).map(({ to }) => rowOf(to)));
    return (allowedIn(part) ?? [])
      .filter((one) => !used.has(one))
      .map((one) => `the import table allows ${part} to import ${one}, which it does not`);
  });
}

function allowedIn(part: string): readonly string[] | undefined {
  const row = IMPORT_TABLE[rowOf(part)];
  return row && [...row.parts, ...(row.packages ?? []), ...(row.node ?? []).map((name) => `node:${name}`)];
}

function importedBy(file: string, target: string): string {
  if (target.startsWith('.')) return partOf(posix.join(posix.dirname(file), target));
  if (isBuiltin(target)) return `node:${target.replace(/^node:/, '').split('/')[0]}`;
  return packageOf(target);
}

function isPackage(target: string): boolean {
  return !target.startsWith('.') && !isBuiltin(target);
}

function packageOf(target: string): string {
  return target
    .split('/')
    .slice(0, target.startsWith('@') ? 2 : 1)
    .join('/');
}

function partOf(file: string): string {
  if (file === 'src/store/store.ts') return 'store interface';
  if (file === 'src/http/doors.ts') return 'list of doors';
  const door = /^src\/http\/doors\/[^/]+/.exec(file)?.[0];
  if (door !== undefined) return door;
  return /^src\/([^/.]+)/.exec(file)?.[1] ?? OUTSIDE;
}

function rowOf(part: string): string {
  return part.startsWith('src/http/doors/') ? 'a door' : part;
}

/** Comments become spaces and line ends, so that positions keep their line. */
export function withoutComments(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\/|(?<![:'"`\w])\/\/.*/g, (comment) => comment.replace(/[^\n]/g, ' '));
}

export function lineAt(text: string, index: number): number {
  return text.slice(0, index).split('\n').length;
}
