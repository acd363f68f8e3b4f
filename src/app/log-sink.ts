/**
 * Where lines go: gathered for a moment, written together, and one write at a time. A reader that stops reading holds up
 * nothing: what it leaves is kept up to a limit, then left out and counted.
 */

import type { Clock } from '../domain/ports.ts';

/** Fewer, larger writes: one for each line would be half of what a line costs. */
const GATHER_MS = 25;
const KEPT_CHARS = 1_048_576;
const END_MS = 500;

/** Standard error, as far as it is used. */
export interface Out {
  write(text: string, taken: () => void): unknown;
  on(event: 'error', listener: () => void): unknown;
}

export interface LogSink {
  write(line: string, atOnce: boolean): void;
  readonly dropped: number;
  end(): Promise<void>;
}

export function openSink(out: Out, clock: Pick<Clock, 'after'>, droppedLine: (n: number) => string): LogSink {
  let kept: string[] = [];
  let chars = 0;
  let writing = false;
  let waiting = false;
  let gone = false;
  let dropped = 0;
  let untold = 0;
  const idle: (() => void)[] = [];

  const flush = (): void => {
    if (writing || gone) return;
    if (kept.length === 0) {
      for (const resolve of idle.splice(0)) resolve();
      return;
    }
    if (untold > 0) kept.push(droppedLine(untold));
    untold = 0;
    const text = kept.join('');
    kept = [];
    chars = 0;
    writing = true;
    out.write(text, () => {
      writing = false;
      flush();
    });
  };
  // Whoever read it has gone: there is nobody to tell.
  out.on('error', () => {
    gone = true;
    for (const resolve of idle.splice(0)) resolve();
  });
  return {
    write(line, atOnce) {
      if (gone || chars + line.length > KEPT_CHARS) {
        dropped += 1;
        untold += 1;
        return;
      }
      kept.push(line);
      chars += line.length;
      if (atOnce) return flush();
      if (waiting) return;
      waiting = true;
      clock.after(GATHER_MS, () => {
        waiting = false;
        flush();
      });
    },
    get dropped() {
      return dropped;
    },
    end: () =>
      new Promise((resolve) => {
        if (gone) return resolve();
        const cancel = clock.after(END_MS, resolve);
        idle.push(() => {
          cancel();
          resolve();
        });
        flush();
      }),
  };
}
