/** The log of this process, server or worker: one line for each thing worth knowing. Format and way are chosen once. */

import { type Facts, jsonLine, type LogLevel, LOG_LEVELS, textLine } from './log-lines.ts';
import type { LogSink } from './log-sink.ts';
import { Sparing } from './log-sparing.ts';
import type { Clock } from '../domain/ports.ts';

export interface Log {
  /** Null where such lines are not written: then nobody need put one together. */
  readonly debug: ((message: string, facts?: Facts) => void) | null;
  info(message: string, facts?: Facts): void;
  warn(message: string, facts?: Facts): void;
  error(message: string, facts?: Facts): void;
  /** One line now and then for each kind, with how many were left out. */
  sparingly(kind: string, level: 'warn' | 'info', message: string, facts: Facts): void;
  writes(level: LogLevel): boolean;
  /** Lines that nobody took in time. */
  readonly dropped: number;
  /** Resolves when what was written has been taken, or after a short while. */
  end(): Promise<void>;
}

export interface LogOptions {
  readonly level: LogLevel;
  readonly format: 'text' | 'json';
  readonly colours: boolean;
  readonly clock: Pick<Clock, 'after'>;
  readonly wallMs: () => number;
  readonly sink: LogSink;
}

export function openLog({ level, format, colours, clock, wallMs, sink }: LogOptions): Log {
  const writes = (own: LogLevel): boolean => LOG_LEVELS.indexOf(own) >= LOG_LEVELS.indexOf(level);
  const at =
    (own: Exclude<LogLevel, 'silent'>) =>
    (message: string, facts: Facts = {}): void => {
      if (!writes(own)) return;
      const now = wallMs();
      sink.write(
        format === 'json' ? jsonLine(now, own, message, facts) : textLine(now, own, message, facts, colours),
        own === 'error',
      );
    };
  const lines = { info: at('info'), warn: at('warn'), error: at('error') };
  const sparing = new Sparing(clock, (own, message, facts) => lines[own](message, facts));
  return {
    ...lines,
    debug: writes('debug') ? at('debug') : null,
    sparingly: (kind, own, message, facts) => sparing.say(kind, own, message, facts),
    writes,
    get dropped() {
      return sink.dropped;
    },
    end: () => {
      sparing.end();
      return sink.end();
    },
  };
}
