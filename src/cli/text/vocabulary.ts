/** The same commands under two names: what `spine` calls a schedule is a job to `openclaw-scheduler`. */

export interface Vocabulary {
  /** How the program is called in a clone and with the package, for hints on what to type next. */
  readonly program: string;
  /** One schedule; more than one, and the command for them, have an s behind it. */
  readonly schedule: string;
}

export function vocabularyOf(program: string): Vocabulary {
  return { program: `npx ${program}`, schedule: program === 'openclaw-scheduler' ? 'job' : 'schedule' };
}
