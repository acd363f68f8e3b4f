/** Runs a list of commands and writes down what a person would have seen, without what differs from run to run. */

import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { TestServer } from '../support/server.ts';
import { type RunOptions, spine, words } from './support.ts';

export interface Step {
  readonly line: string;
  readonly stdin?: string;
  /** What the worker of the first job does just before. */
  readonly before?: 'log' | 'complete';
  /** Changed before it is written down. */
  readonly mask?: (text: string) => string;
  /** Its argument differs from run to run. */
  readonly hide?: boolean;
}

/** Written anew by: node --test --test-update-snapshots test/cli/golden-*.test.ts */
export function golden(t: TestContext, name: string, text: string): void {
  const file = join(import.meta.dirname, 'golden', `${name}.txt`);
  t.assert.fileSnapshot(text, file, { serializers: [(value: string) => value] });
}

/** `$1` is the first job that the steps made, `$question` the last question, `$no` its number, `$lease` the last lease token, `$blob` the last file. */
export async function transcript(
  server: TestServer,
  steps: readonly (string | Step)[],
  options: RunOptions & { readonly json?: boolean },
): Promise<string> {
  const known = new Map<string, string>();
  let jobs = 0;
  let text = '';
  for (const each of steps) {
    const step: Step = typeof each === 'string' ? { line: each } : each;
    await act(server, known.get('$1') ?? '', step.before);
    const json = options.json && !step.line.startsWith('completion') ? ' --json' : '';
    const line = step.line.replaceAll(/\$\w+/g, (name) => known.get(name) ?? name);
    const { code, stdout, stderr } = await spine(words(`${line}${json}`), {
      ...options,
      ...(step.stdin !== undefined && { stdin: step.stdin }),
    });
    if (line.startsWith('jobs add'))
      for (const [id] of stdout.matchAll(UUID))
        if (![...known.values()].includes(id)) known.set(`$${++jobs}`, id);
    if (line.startsWith('jobs ask')) remember(known, '$question', QUESTION.exec(stdout));
    remember(known, '$lease', /lease token +(\S+)|"leaseToken": "([^"]+)"/.exec(stdout));
    if (!known.has('$no')) remember(known, '$no', /#(\d+)|"no": (\d+)/.exec(stdout));
    if (!known.has('$prefix') && known.has('$1')) known.set('$prefix', known.get('$1')?.slice(0, 20) ?? '');
    if (line.startsWith('blobs put')) remember(known, '$blob', UUID_ONCE.exec(stdout));
    const shown = step.mask ? step.mask(stdout) : stdout;
    text += `$ spine ${step.line}${json}\n${shown}${stderr.replace(/^/gm, '! ').replace(/! $/, '')}`;
    if (code !== 0) text += `[exit code ${code}]\n`;
    text += '\n';
  }
  return normal(text);
}

async function act(server: TestServer, id: string, what: Step['before']): Promise<void> {
  const lines = [
    { text: 'one', level: 'debug' },
    { text: 'two' },
    { text: 'three', level: 'warn' },
    { text: 'four', level: 'error' },
  ];
  if (what === 'log') await server.left.post(`/jobs/${id}/logs`, { lines });
  if (what === 'complete') await server.left.post(`/jobs/${id}/complete`, { result: 'said it' });
}

const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}/g;
const UUID_ONCE = new RegExp(UUID, '');
const QUESTION = /question +(\S+)$|"question": "([^"]+)"/m;

function remember(known: Map<string, string>, name: string, found: RegExpExecArray | null): void {
  const value = found?.[1] ?? found?.[2] ?? found?.[0];
  if (value !== undefined) known.set(name, value);
}

/** Ids, numbers, times, ports and tokens in the order in which they appear; columns lose their width with them. */
export function normal(text: string): string {
  const ids = new Map<string, string>();
  const numbers = new Map<string, string>();
  const nth = (map: Map<string, string>, key: string): string => {
    const known = map.get(key) ?? String(map.size + 1);
    map.set(key, known);
    return known;
  };
  return text
    .replaceAll(UUID, (id) => `<id ${nth(ids, id)}>`)
    .replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g, '<time>')
    .replaceAll(/("day": ?)"\d{4}-\d\d-\d\d"/g, '$1"<day>"')
    .replaceAll(/http:\/\/127\.0\.0\.1:\d+/g, 'http://127.0.0.1:<port>')
    .replaceAll(/[^\s"]*\/spine-[A-Za-z0-9]{6}\b/g, '<data>')
    .replaceAll(/bench-[0-9a-f-]{12}/g, 'bench-<name>')
    .replaceAll(/\b\d\d:\d\d:\d\d\b/g, '<clock>')
    .replaceAll(/spn_[\w-]{40,}/g, '<token>')
    .replaceAll(/(lease token +)\S+/g, '$1<token>')
    .replaceAll(/^(waited|ran) +\d+(ms|[smhd](\d+[smh])?)$/gm, '$1 <duration>')
    .replaceAll(/("(?:queuedMs|runMs)": ?)\d+/g, '$1<ms>')
    .replaceAll(/("leaseToken": )"[^"]+"/g, '$1"<token>"')
    .replaceAll(/(?<![\w/])#(\d+)/g, (_, no: string) => `#${nth(numbers, no)}`)
    .replaceAll(/("no": ?)(\d+)/g, (_, name: string, no: string) => `${name}${nth(numbers, no)}`)
    .replaceAll(/"id":"\d+\.\d+"/g, '"id":"<place>"')
    .replaceAll(/\b(now|in (\d+[smhd])+|\d+(ms|[smhd](\d+[smh])?) ago)(?=\s|\)|,|:|$)/gm, '<when>')
    .replaceAll(/(?<=\S) {3,}(?=\S)/g, '  ')
    .replaceAll(/^ +(?=#)/gm, ' ');
}
