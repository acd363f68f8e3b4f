/** Which runner does the sessions that this server is asked for. */

import type { Config } from '../config.ts';
import { SYSTEM } from '../domain/actor.ts';
import { SpineError } from '../domain/error.ts';
import type { Engine } from '../engine/engine.ts';

export type SessionRunnerName = NonNullable<Config['sessionRunner']>;

/** Whoever names a command wants it run. */
export function sessionRunnerOf({
  sessionRunner,
  sessionCommand,
}: Pick<Config, 'sessionRunner' | 'sessionCommand'>): SessionRunnerName {
  return sessionRunner ?? (sessionCommand === null ? 'off' : 'command');
}

/** A session that is not known here was its worker's own, and has ended with it. */
export async function endSession(engine: Pick<Engine, 'sessions'>, sessionId: string): Promise<void> {
  try {
    await engine.sessions.end(SYSTEM, sessionId);
  } catch (error) {
    if (!(error instanceof SpineError) || error.code !== 'not_found') throw error;
  }
}
