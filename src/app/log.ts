/** The server's own log: one JSON line each on standard error. */

import { isoTime } from '../domain/iso-time.ts';

export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'silent';

export interface Log {
  info(message: string, facts?: Readonly<Record<string, unknown>>): void;
  warn(message: string, facts?: Readonly<Record<string, unknown>>): void;
  error(message: string, facts?: Readonly<Record<string, unknown>>): void;
}

const ORDER: readonly LogLevel[] = ['debug', 'info', 'warn', 'error', 'silent'];

export function openLog(level: LogLevel, now: () => number, write: (line: string) => void): Log {
  const at =
    (own: LogLevel) =>
    (message: string, facts: Readonly<Record<string, unknown>> = {}) => {
      if (ORDER.indexOf(own) < ORDER.indexOf(level)) return;
      write(JSON.stringify({ t: isoTime(now()), level: own, message, ...printable(facts) }));
    };
  return { info: at('info'), warn: at('warn'), error: at('error') };
}

/** Errors print as their message, cause and stack; everything else as it is. */
function printable(facts: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(facts).map(([key, value]) => [key, value instanceof Error ? errorFacts(value) : value]),
  );
}

function errorFacts(error: Error): Record<string, unknown> {
  return {
    error: error.message,
    stack: error.stack,
    ...(error.cause instanceof Error && { cause: error.cause.message }),
  };
}
