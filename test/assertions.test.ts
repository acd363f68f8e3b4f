import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { test } from 'node:test';

const ROOT = new URL('..', import.meta.url);

/** Texts, templates and comments: commas and brackets in them count for nothing. A slash after an operator begins a pattern. */
const NO_CODE =
  /\/\/.*|\/\*[^]*?\*\/|'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|`(?:\\.|[^`\\])*`|(?<=[(,=:?|&!]\s*)\/(?![/*])(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n[])+\//g;

/** How many arguments the call has whose bracket stands at this place. */
function argumentsAt(code: string, bracket: number): number {
  let depth = 0;
  let commas = 0;
  for (let at = bracket; at < code.length; at++) {
    const sign = code[at] ?? '';
    if ('([{'.includes(sign)) depth++;
    if (')]}'.includes(sign)) depth--;
    if (sign === ',' && depth === 1 && !/^,\s*\)/.test(code.slice(at, at + 40))) commas++;
    if (depth === 0) return commas + 1;
  }
  return 0;
}

/** The lines at which some failure or other is good enough. */
function unreasoned(text: string): number[] {
  const code = text.replaceAll(NO_CODE, (part) => part.replaceAll(/[^\n]/g, '_'));
  return [...code.matchAll(/\b(?:rejects|throws)(?=\()/g)]
    .filter(({ index, 0: name }) => argumentsAt(code, index + name.length) < 2)
    .map(({ index }) => code.slice(0, index).split('\n').length);
}

test('whoever expects a failure says which one: any other would pass for it', () => {
  assert.deepEqual(unreasoned('await rejects(\n  f(1, `,`),\n);\nthrows(() => g([1, 2]))'), [1, 4]);
  assert.deepEqual(unreasoned("rejects(f(), /a\\(,/); throws(() => g(')'), { code: 'x' })"), []);
  const files = globSync(['test/**/*.ts', 'proof/**/*.ts', 'bench/**/*.ts'], { cwd: ROOT });
  assert.ok(files.length > 300);
  const found = files.flatMap((file) =>
    unreasoned(readFileSync(new URL(file, ROOT), 'utf8')).map((line) => `${file}:${line}`),
  );
  assert.deepEqual(found, []);
});
