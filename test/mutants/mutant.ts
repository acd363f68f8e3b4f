/** A bug to plant: one edit of one file, and the tests that must notice it. */

export interface Mutant {
  /** As it is said on the command line. */
  readonly name: string;
  /** What a user would suffer from it. */
  readonly means: string;
  readonly file: string;
  /** Stands in the file exactly once. */
  readonly find: string;
  readonly replace: string;
  /** The test files that should see it; only the tests whose names match `only` are run when it is given. */
  readonly seenBy: readonly string[];
  readonly only?: string;
}

/** The text with the bug in it. A text in which it has no place, or two, makes the mutant stale. */
export function planted(text: string, { name, file, find, replace }: Mutant): string {
  const places = text.split(find).length - 1;
  if (places !== 1)
    throw new Error(`The mutant "${name}" is stale: its text stands ${places} times in ${file}, not once.`);
  return text.replace(find, () => replace);
}
