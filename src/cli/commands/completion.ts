/** Completion: a few lines for each shell, which ask this command what may come next. */

import type { SpineClient } from '../../client/index.ts';
import { type Candidate, type Kind, nextWords } from '../candidates.ts';
import type { Handler } from '../command.ts';
import { usage } from '../failure.ts';
import { buildProgram } from '../program.ts';
import type { Session } from '../session.ts';
import { clean } from '../text/clean.ts';
import { summary } from './job-lines.ts';
import { SCRIPTS } from './completion-scripts.ts';

export const completion: Handler = completionOf(buildProgram);

export function completionOf(build: typeof buildProgram): Handler {
  return async (session, { args: [shell = '', ...words] }) => {
    const program = build(() => () => Promise.resolve(), '');
    if (shell === 'words') return printNext(session, program, words);
    const script = SCRIPTS[shell];
    if (script === undefined)
      throw usage(
        `There is no completion for ${shell}.`,
        `Write ${Object.keys(SCRIPTS)
          .join(', ')
          .replace(/, (\w+)$/, ' or $1')}.`,
      );
    session.out.lines(script(program.name()).trimEnd().split('\n'));
  };
}

/** The word being typed has a sign before it: some shells drop one that is empty. */
async function printNext(
  session: Session,
  program: ReturnType<typeof buildProgram>,
  words: readonly string[],
): Promise<void> {
  const current = (words.at(-1) ?? '').replace(/^=/, '');
  const { candidates, kind } = nextWords(program, words.slice(0, -1), current);
  const known = kind === null ? [] : await valuesOf(session, kind);
  for (const { word, about } of [...candidates, ...known])
    if (word.startsWith(current)) session.host.stdout.write(`${clean(word)}\t${clean(about)}\n`);
}

const SHOWN = 50;
const WITHIN = { timeoutMs: 2_000, retries: 0 };
/** Others have chosen these names: what a shell would read as more than a word is not offered. */
const PLAIN = /^[\p{L}\p{N}._:@-]+$/u;

/** Who presses Tab wants no error between the lines, whatever is wrong with the server. */
async function valuesOf(session: Session, kind: Kind): Promise<readonly Candidate[]> {
  try {
    const values = await READ[kind](await session.client());
    return values.filter(({ word }) => PLAIN.test(word)).slice(0, SHOWN);
  } catch {
    return [];
  }
}

const READ: Readonly<Record<Kind, (client: SpineClient) => Promise<readonly Candidate[]>>> = {
  jobs: async (client) => {
    const { jobs } = await client.jobs.listPage({ order: 'newest', limit: SHOWN }, undefined, WITHIN);
    return jobs.map((job) => ({ word: String(job.no), about: `${job.state} ${summary(job)}` }));
  },
  schedules: async (client) => {
    const { schedules } = await client.schedules.listPage({ limit: SHOWN }, undefined, WITHIN);
    return schedules.map(({ id, name }) => ({ word: PLAIN.test(name) ? name : id, about: name }));
  },
  types: async (client) =>
    (await client.types.list(WITHIN)).map(({ name, label }) => ({ word: name, about: label ?? '' })),
  targets: async (client) =>
    ['any', ...Object.keys((await client.stats(WITHIN)).targets)].map((word) => ({ word, about: '' })),
  pools: async (client) => (await client.pools.list(WITHIN)).map(({ name }) => ({ word: name, about: '' })),
};
