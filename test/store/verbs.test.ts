import { deepStrictEqual, ok } from 'node:assert';
import { test } from 'node:test';
import { readSources } from '../../scripts/imports.ts';
import * as reads from '../../src/store/reads/index.ts';
import * as writes from '../../src/store/tx/index.ts';

const verbsOf = (nouns: object): string[] =>
  Object.entries(nouns).flatMap(([noun, verbs]) =>
    Object.keys(verbs as object).map((verb) => `${noun}.${verb}`),
  );

test('every verb of the store has a caller', () => {
  const callers = readSources().filter(({ file }) => !file.startsWith('src/store/'));
  const text = callers.map((source) => source.text).join('\n');
  const verbs = [...verbsOf(reads), ...verbsOf(writes)];
  ok(verbs.length > 100, `saw only ${verbs.length} verbs`);
  deepStrictEqual(
    verbs.filter((verb) => !new RegExp(`\\b${verb.replace('.', '\\s*\\.')}\\b`).test(text)),
    [],
  );
});

test('a verb that needs a transaction does not hide a read of the same name', () => {
  const read = new Set(verbsOf(reads));
  deepStrictEqual(
    verbsOf(writes).filter((verb) => read.has(verb)),
    [],
  );
});
