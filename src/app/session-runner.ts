/** Which runner does the sessions that this server is asked for. */

import type { Config } from '../config.ts';

export type SessionRunnerName = NonNullable<Config['sessionRunner']>;

/** Whoever names a command wants it run. */
export function sessionRunnerOf({
  sessionRunner,
  sessionCommand,
}: Pick<Config, 'sessionRunner' | 'sessionCommand'>): SessionRunnerName {
  return sessionRunner ?? (sessionCommand === null ? 'off' : 'command');
}
