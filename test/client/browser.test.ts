import { deepStrictEqual, ok } from 'node:assert';
import { globSync, readFileSync } from 'node:fs';
import { test } from 'node:test';

const files = globSync('src/client/*.ts').map((file) => ({ file, text: readFileSync(file, 'utf8') }));

test('the client imports nothing of Node but in files that only Node loads', () => {
  ok(files.length > 10);
  const withNode = files.filter(({ text }) => /from 'node:|\bprocess\.(?!versions)/.test(text));
  deepStrictEqual(withNode.map(({ file }) => file).toSorted(), [
    'src/client/signals-node.ts',
    'src/client/transport-node.ts',
  ]);
  for (const { file, text } of files)
    ok(!/from '\.\/\w+-node\.ts'/.test(text), `${file} loads a file of Node's everywhere`);
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
