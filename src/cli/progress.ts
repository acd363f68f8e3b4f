/** A bar for long work, on a terminal only. */

import type { Session } from './session.ts';
import { clean } from './text/clean.ts';

export interface Progress {
  add(amount: number): void;
  end(): void;
}

export interface StatusLine {
  /** Whether anybody sees it. */
  readonly isSeen: boolean;
  show(text: string): void;
  end(): void;
}

/** What is still under way, in one line of a terminal; each takes the place of the one before. */
export function statusLine({ host: { stderr }, out }: Session): StatusLine {
  const isSeen = stderr.isTTY === true && !out.quiet && !out.json;
  const clear = '\r\x1b[K';
  let shown = '';
  return {
    isSeen,
    show: (text) => {
      const line = clean(text).slice(0, (stderr.columns || 80) - 1);
      if (isSeen && line !== shown) stderr.write(`${clear}${line}`);
      shown = line;
    },
    end: () => {
      if (isSeen && shown !== '') stderr.write(clear);
      shown = '';
    },
  };
}

const NONE: Progress = { add: () => undefined, end: () => undefined };
const CELLS = 30;
/** Work that is over sooner needs no bar. */
const SHOW_AFTER_MS = 500;
const REDRAW_MS = 100;

export function progressBar(session: Session, title: string, total: number | null): Progress {
  const { stderr } = session.host;
  if (!stderr.isTTY || session.out.quiet || session.out.json || total === null || total === 0) return NONE;
  const startedAt = session.now();
  let done = 0;
  let drawnAt = 0;
  const draw = (): void => {
    const share = Math.min(1, done / total);
    const full = Math.round(share * CELLS);
    const bar = '█'.repeat(full) + '░'.repeat(CELLS - full);
    stderr.write(`\r\x1b[K${title} ${bar} ${String(Math.floor(share * 100)).padStart(3)}%`);
  };
  return {
    add: (amount) => {
      done += amount;
      const now = session.now();
      if (now - startedAt < SHOW_AFTER_MS || now - drawnAt < REDRAW_MS) return;
      drawnAt = now;
      draw();
    },
    end: () => {
      if (drawnAt > 0) stderr.write('\r\x1b[K');
    },
  };
}
