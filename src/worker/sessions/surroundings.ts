/** Where sessions work and what they find in their environment: folders and variables that the operator has named. */

import { realpathSync, statSync } from 'node:fs';
import { JobFailure } from '../../client/errors.ts';

/** What any program needs; everything else has to be named. */
const ALWAYS = [
  'PATH',
  'HOME',
  'USER',
  'LOGNAME',
  'SHELL',
  'LANG',
  'LC_ALL',
  'LC_CTYPE',
  'TERM',
  'TMPDIR',
  'TZ',
];

type Environment = Readonly<Record<string, string | undefined>>;

export interface SurroundingsOptions {
  /** Working directories must lie under one of them; the first is where a session works whose task names none. */
  readonly roots: readonly string[];
  /** Variables that sessions get to see, beside those that every program needs. */
  readonly env: readonly string[];
  /** The environment of this process. */
  readonly from: Environment;
}

export class Surroundings {
  readonly #options: SurroundingsOptions;

  constructor(options: SurroundingsOptions) {
    this.#options = options;
  }

  /** One that is not absolute lies in the first root. Links are followed first: what they lead to counts. */
  folderFor(workingDir: string | null): string {
    const roots = this.#options.roots.map((root) => real(root) ?? root);
    const [first = '/'] = roots;
    if (workingDir === null) return first;
    const folder = real(workingDir.startsWith('/') ? workingDir : `${first}/${workingDir}`);
    if (folder === null || !statSync(folder).isDirectory())
      throw refused(`The workingDir ${workingDir} is no folder on this machine.`);
    if (roots.some((root) => folder === root || folder.startsWith(root === '/' ? root : `${root}/`)))
      return folder;
    throw refused(`The workingDir ${workingDir} lies outside of the folders that sessions may work in.`);
  }

  /** What is told of the task wins over what is let through. */
  environmentWith(own: Readonly<Record<string, string>>): Record<string, string> {
    const { env, from } = this.#options;
    const passed = [...ALWAYS, ...env].flatMap((name) => {
      const value = from[name];
      return value === undefined ? [] : [[name, value] as const];
    });
    return { ...Object.fromEntries(passed), ...own };
  }
}

function real(path: string): string | null {
  try {
    return realpathSync(path);
  } catch {
    // It is not there, or may not be looked at: either way nobody works in it.
    return null;
  }
}

function refused(message: string): JobFailure {
  return new JobFailure(message, { requeue: false });
}
