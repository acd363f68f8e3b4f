/** Opens the log of this process, on standard error. */

import type { Config } from '../config.ts';
import type { Clock } from '../domain/ports.ts';
import { systemTime } from '../runtime/clock.ts';
import { type Log, openLog } from './log.ts';
import { jsonLine, textLine } from './log-lines.ts';
import { openSink } from './log-sink.ts';

type Settings = Pick<Config, 'logLevel' | 'logFormat'>;

/** Node waits for a terminal that holds its output (Ctrl-S), unless it is told not to. It has no name of its own for that. */
interface Terminal {
  readonly _handle?: { setBlocking?(blocking: boolean): unknown };
}

export function processLog({ logLevel, logFormat }: Settings, clock: Pick<Clock, 'after'>): Log {
  const { stderr } = process;
  const isTerminal = stderr.isTTY;
  if (isTerminal) (stderr as Terminal)._handle?.setBlocking?.(false);
  const format = logFormat === 'auto' ? (isTerminal ? 'text' : 'json') : logFormat;
  const wallMs = (): number => systemTime.wallMs();
  const droppedLine = (lines: number): string => {
    const message = 'Lines of the log were left out: nobody read them in time';
    if (format === 'json') return jsonLine(wallMs(), 'warn', message, { lines });
    return textLine(wallMs(), 'warn', message, { lines }, false);
  };
  const sink = openSink(stderr, clock, droppedLine);
  const colours = isTerminal && stderr.hasColors();
  return openLog({ level: logLevel, format, colours, clock, wallMs, sink });
}
