import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

const CLIENT = new URL('../../src/client/index.ts', import.meta.url).href;

/** The code of a page, by the file name that stands above each block. */
export function codeIn(page: string): ReadonlyMap<string, string> {
  const text = readFileSync(new URL(`../../${page}`, import.meta.url), 'utf8');
  const blocks = text.matchAll(/<!-- (\S+) -->\n```js\n([\s\S]*?)```/g);
  return new Map([...blocks].map(([, name = '', code = '']) => [name, code]));
}

export interface RunningExample extends AsyncDisposable {
  readonly process: ChildProcess;
  output(): string;
  /** Resolves with the exit code, or the signal that ended it. */
  readonly ended: Promise<number | string | null>;
}

/** Runs code that imports openclaw-spine/client as a user's program would, on the sources. */
export function runExample(code: string, env: Readonly<Record<string, string>>): RunningExample {
  const dir = mkdtempSync(path.join(tmpdir(), 'spine-example-'));
  const file = path.join(dir, 'example.mjs');
  writeFileSync(file, code.replaceAll("'openclaw-spine/client'", `'${CLIENT}'`));
  const child = spawn(process.execPath, [file], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => (output += chunk));
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => (output += chunk));
  const ended = once(child, 'close').then(([code, signal]: unknown[]) => (code ?? signal) as number | string);
  return {
    process: child,
    output: () => output,
    ended,
    [Symbol.asyncDispose]: async () => {
      if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL');
      await ended;
      rmSync(dir, { recursive: true, force: true });
    },
  };
}
