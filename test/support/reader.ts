/** Somebody who reads our pages and types what they print. */

import assert from 'node:assert/strict';
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';

const REPO = join(import.meta.dirname, '../..');
/** npm may have to install everything first, beside other tests; well below what such a test is given. */
const SAYS_WITHIN_MS = 120_000;
/** A command that runs to its end. */
const ENDS_WITHIN_MS = 60_000;

export interface Block {
  readonly language: string;
  readonly text: string;
}

export function blocksOf(page: string): Block[] {
  const text = readFileSync(join(REPO, page), 'utf8');
  return [...text.matchAll(/^```(\w*)\n([^]*?)^```$/gm)].map(([, language = '', inner = '']) => ({
    language,
    text: inner,
  }));
}

/** The one block of a page that begins with these words. */
export function blockOf(page: string, beginning: string): string {
  const found = blocksOf(page).filter(({ text }) => text.startsWith(beginning));
  assert.equal(found.length, 1, `${page}: ${beginning}`);
  return found[0]?.text ?? '';
}

export interface Running {
  readonly output: () => string;
  readonly hasEnded: () => boolean;
  readonly end: () => Promise<void>;
}

/** What is exported in one of its blocks is there in those that are typed into it later. */
export interface Terminal {
  /** Runs a script to its end, which must be a good one; answers its standard output. */
  readonly run: (script: string) => string;
  /** Runs until `end`; a group of its own, so that whatever it starts ends with it. */
  readonly begin: (script: string) => Running;
}

export interface Reader extends Terminal {
  /** A new one. Without it each script has a terminal of its own. */
  readonly terminal: () => Terminal;
  readonly says: (what: string, of: Running, words: RegExp) => Promise<true>;
}

interface Place {
  readonly folder: string;
  readonly env: Readonly<Record<string, string>>;
  /** Stands for the one that the pages name, which may be taken here. */
  readonly port: number;
}

/** Everything it starts has ended after the test. */
export function reader(t: TestContext, { folder: cwd, env, port }: Place): Reader {
  const here = (script: string): string => script.replaceAll(':36725', `:${port}`);
  const started = new Set<ChildProcess>();
  t.after(() => {
    for (const child of started) if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
  });
  const run = (script: string): string => {
    const args = ['-euo', 'pipefail', '-c', here(script)];
    const ran = spawnSync('bash', args, { cwd, env, encoding: 'utf8', timeout: ENDS_WITHIN_MS });
    assert.equal(ran.status, 0, `${script}\n${ran.stdout}${ran.stderr}`);
    return ran.stdout;
  };
  const begin = (script: string): Running => {
    const child = spawn('bash', ['-euo', 'pipefail', '-c', here(script)], { cwd, env, detached: true });
    started.add(child);
    let output = '';
    child.stdout.setEncoding('utf8').on('data', (chunk: string) => (output += chunk));
    child.stderr.setEncoding('utf8').on('data', (chunk: string) => (output += chunk));
    let hasEnded = false;
    const closed = new Promise<void>((resolve) =>
      child.once('close', () => {
        hasEnded = true;
        started.delete(child);
        resolve();
      }),
    );
    const end = async (): Promise<void> => {
      if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, 'SIGTERM');
      await closed;
    };
    return { output: () => output, hasEnded: () => hasEnded, end };
  };
  return {
    run,
    begin,
    terminal: () => {
      const exported = `'${join(mkdtempSync(join(env['HOME'] ?? cwd, 'terminal-')), 'exported')}'`;
      const typed = (script: string): string =>
        `if [ -f ${exported} ]; then . ${exported}; fi\ntrap "export -p > ${exported}" EXIT\n${script}`;
      return { run: (script) => run(typed(script)), begin: (script) => begin(typed(script)) };
    },
    says: async (what, of, words) => {
      const givenUpAt = performance.now() + SAYS_WITHIN_MS;
      while (!words.test(of.output())) {
        if (of.hasEnded()) assert.fail(`${what} has ended without saying ${words}:\n${of.output()}`);
        if (performance.now() > givenUpAt) assert.fail(`${what} never said ${words}:\n${of.output()}`);
        await sleep(20);
      }
      return true;
    },
  };
}
