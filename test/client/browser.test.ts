import { deepStrictEqual, ok } from 'node:assert';
import { globSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { test } from 'node:test';

const files = globSync('src/client/*.ts').map((file) => ({ file, text: readFileSync(file, 'utf8') }));

test('the client imports nothing of Node but in files that only Node loads', () => {
  ok(files.length > 10);
  const withNode = files.filter(({ text }) => /from 'node:|\bprocess\.(?!versions)/.test(text));
  deepStrictEqual(withNode.map(({ file }) => file).toSorted(), [
    'src/client/signals-node.ts',
    'src/client/transport-node.ts',
  ]);
});

test('what browsers load is the whole client but the files of Node', () => {
  const texts = new Map(files.map(({ file, text }) => [basename(file), text]));
  const reached = new Set(['browser.ts']);
  for (const name of reached)
    for (const [, to = ''] of (texts.get(name) ?? '').matchAll(/(?:from|import\()\s*'\.\/([\w-]+\.ts)'/g))
      reached.add(to);
  deepStrictEqual([...texts.keys()].filter((name) => !reached.has(name)).toSorted(), [
    'client.ts',
    'index.ts',
    'platform-node.ts',
    'signals-node.ts',
    'transport-node.ts',
  ]);
});

test('the client imports no packages and nothing outside its folder', () => {
  const imports = files.flatMap(({ file, text }) =>
    [...text.matchAll(/(?:from|import\()\s*'([^']+)'/g)].map(([, from = '']) => `${file}: ${from}`),
  );
  ok(imports.length > 30);
  deepStrictEqual(
    imports.filter((line) => !/: (?:\.\/[\w-]+\.ts|node:[\w/]+)$/.test(line)),
    [],
  );
});
