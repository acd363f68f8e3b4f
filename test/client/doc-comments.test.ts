import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

const FOLDER = join(import.meta.dirname, '../../src/client');
const read = (file: string): string => readFileSync(join(FOLDER, file), 'utf8');

/** What the client exports: `export * from` gives a file's types, braces give names. */
function exported(): { readonly file: string; readonly names: ReadonlySet<string> }[] {
  return [...read('exports.ts').matchAll(/export (?:type )?(\*|\{[^}]*\}) from '\.\/([^']+)'/g)].map(
    ([, what = '', file = '']) => {
      // Types that are generated from the table of job fields are exported by the file that uses them.
      const all = what === '*' ? /export (?:interface|type) (\w+)/g : /(\w+)(?=,|\s*\})/g;
      const text = what === '*' ? read(file) : what;
      return { file, names: new Set([...text.matchAll(all)].map(([, name = '']) => name)) };
    },
  );
}

interface Field {
  readonly owner: string;
  readonly name: string;
  readonly hasWords: boolean;
}

/** The members of interfaces and types of objects; the formatter gives each a line, and its comment the lines above. */
function fieldsOf(text: string): Field[] {
  const found: Field[] = [];
  const lines = text.split('\n');
  let owner = '';
  let depth = 0;
  for (const [index, line] of lines.entries()) {
    const [, name] = /^export (?:interface|type) (\w+).*\{$/.exec(line) ?? [];
    if (name !== undefined) [owner, depth] = [name, 0];
    const [, field] = /^\s+(?:readonly )?(\w+)\??(?=[(<:]).*[^,]$/.exec(line) ?? [];
    if (owner !== '' && depth > 0 && field !== undefined) {
      const before = found.findLast((one) => one.owner === owner && one.name === field);
      // What is declared in several forms is described once.
      const isForm = before !== undefined && /^\s+\w+[(<]/.test(line);
      found.push({ owner, name: field, hasWords: isForm || lines[index - 1]?.endsWith('*/') === true });
    }
    depth += line.split('{').length - line.split('}').length;
    if (depth <= 0) owner = '';
  }
  return found;
}

test('every field of the types that the client exports has a comment, which editors show', () => {
  const files = [
    ...exported(),
    { file: 'job-types.ts', names: new Set(['NewJob', 'Job', 'Comment', 'Dependency', 'FieldFilter']) },
  ];
  const fields = files.flatMap(({ file, names }) =>
    fieldsOf(read(file))
      .filter(({ owner }) => names.has(owner))
      .map((field) => ({ ...field, file })),
  );
  assert.ok(fields.length > 450, `${fields.length} fields`);
  const silent = fields.filter(({ hasWords }) => !hasWords);
  assert.deepEqual(
    silent.map(({ file, owner, name }) => `${file}: ${owner}.${name}`),
    [],
  );
});

test('a field without a comment is found', () => {
  const text =
    'export interface One {\n  /** Said. */\n  readonly a: string;\n  readonly b?: {\n    c(): void;\n  };\n}';
  assert.deepEqual(
    fieldsOf(text).map(({ owner, name, hasWords }) => [owner, name, hasWords]),
    [
      ['One', 'a', true],
      ['One', 'b', false],
      ['One', 'c', false],
    ],
  );
});
