/**
 * What becomes of errors that nobody took care of.
 *
 * A promise that failed while nobody waited for it belongs to one call or one pass: what it was to change has been committed
 * or rolled back by the database. It is logged, and the server goes on.
 *
 * An exception outside of any promise has broken off some callback in the middle, so that nobody knows what memory holds. The
 * server stops in good order, as on SIGTERM, with an exit code that has a service manager start it again.
 */

import type { Log } from './log.ts';

export function watchUnexpected(log: Pick<Log, 'error'>, stop: (error: Error) => void): void {
  process.on('unhandledRejection', (reason) => {
    log.error('Something failed that nobody waited for; the server goes on', { error: asError(reason) });
  });
  let stopping = false;
  process.on('uncaughtException', (thrown) => {
    const error = asError(thrown);
    log.error('An unexpected error outside of any call; the server stops', { error });
    if (!stopping) stop(error);
    stopping = true;
  });
}

function asError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}
