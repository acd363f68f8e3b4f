/**
 * When a server is to stop: at a signal, or of its own accord. It answers calls before it has come up whole, so signals are
 * heard from the very start; one that comes too early has its effect as soon as the server can stop in good order.
 */

import type { Clock } from '../domain/ports.ts';
import { EXIT } from './start-error.ts';

export interface StopRequest {
  /** Resolves at the first request, with the fault that made it. */
  readonly asked: Promise<Error | undefined>;
  ask(fault?: Error): void;
  /** The server has stopped by itself. */
  done(): void;
}

export function stopRequest(clock: Clock, drainMs: number): StopRequest {
  const { promise: asked, resolve } = Promise.withResolvers<Error | undefined>();
  let giveUp: (() => void) | null = null;
  const ask = (fault?: Error): void => {
    // Draining is bounded: what is not done by then is recovered at the next start.
    giveUp ??= clock.after(drainMs, () => process.exit(fault === undefined ? 0 : EXIT.fault));
    resolve(fault);
  };
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => ask());
  return { asked, ask, done: () => giveUp?.() };
}
