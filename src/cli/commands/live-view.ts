/** A view that is drawn anew until q or Ctrl-C. */

import type { Session } from '../session.ts';
import { type Line, render } from '../text/line.ts';

export interface Size {
  readonly columns: number;
  readonly rows: number;
}

/** The other screen buffer, without a cursor: what was on the terminal before is there again afterwards. */
const ENTER = '\x1b[?1049h\x1b[?25l';
const LEAVE = '\x1b[?25h\x1b[?1049l';
const HOME = '\x1b[H';
const CLEAR_LINE = '\x1b[K';
const CLEAR_BELOW = '\x1b[J';

/** `look` answers what to show, in lines that fit the size. */
export async function liveView(
  session: Session,
  intervalMs: number,
  look: () => Promise<(size: Size) => readonly Line[]>,
): Promise<void> {
  const { stdout } = session.host;
  // A server that is down is said on the usual screen.
  let seen = await look();
  const keys = listenForQuit(session);
  stdout.write(ENTER);
  try {
    while (!keys.quit.aborted) {
      draw(session, seen);
      await Promise.race([session.sleep(intervalMs), keys.pressed]);
      if (keys.quit.aborted) break;
      seen = await look();
    }
  } catch (error) {
    // Ctrl-C is how people leave such a view.
    if (!session.signal.aborted && !keys.quit.aborted) throw error;
  } finally {
    stdout.write(LEAVE);
    keys.stop();
  }
}

function draw(session: Session, linesFor: (size: Size) => readonly Line[]): void {
  const { stdout } = session.host;
  const size = { columns: stdout.columns || 80, rows: stdout.rows || 24 };
  const lines = linesFor(size).map((line) => render(line, session.out.colours));
  stdout.write(`${HOME}${lines.map((line) => `${line}${CLEAR_LINE}`).join('\r\n')}${CLEAR_BELOW}`);
}

interface Keys {
  readonly quit: AbortSignal;
  readonly pressed: Promise<void>;
  stop(): void;
}

/** In raw mode Ctrl-C is a key like q. */
const QUIT_KEYS = ['q', 'Q', '\x03'];

function listenForQuit({ host: { stdin } }: Session): Keys {
  const quit = new AbortController();
  const pressed = Promise.withResolvers<void>();
  const take = (chunk: Uint8Array | string): void => {
    const keys = Buffer.from(chunk).toString('latin1');
    if (!QUIT_KEYS.some((key) => keys.includes(key))) return;
    quit.abort();
    pressed.resolve();
  };
  stdin.setRawMode?.(true);
  stdin.on('data', take);
  stdin.resume();
  return {
    quit: quit.signal,
    pressed: pressed.promise,
    stop: () => {
      stdin.off('data', take);
      stdin.setRawMode?.(false);
      stdin.pause();
    },
  };
}
