/** A live view: one screen, drawn anew until q or Ctrl-C. */

import type { Job, SpineClient, Stats } from '../../client/index.ts';
import type { Handler } from '../command.ts';
import { usage } from '../failure.ts';
import type { Session } from '../session.ts';
import { render } from '../text/line.ts';
import { screenLines } from './top-screen.ts';

export interface Picture {
  readonly url: string;
  readonly atMs: number;
  readonly stats: Stats;
  readonly running: readonly Job[];
  readonly oldestQueued: readonly Job[];
}

/** More than a screen shows. */
const JOBS_SHOWN = 50;

export const top: Handler<{ readonly interval: number; readonly once?: boolean }> = async (
  session,
  { options },
) => {
  const client = await session.client();
  if (options.once || session.out.json) {
    const picture = await look(session, client);
    const { atMs: _, ...value } = picture;
    const lines = () => screenLines(picture, 'once', { columns: session.out.columns, rows: Infinity });
    return session.out.result({ value, lines });
  }
  if (!session.host.stdout.isTTY) throw usage('top needs a terminal.', 'Use: spine top --once');
  await live(session, client, Math.max(100, options.interval));
};

async function look(session: Session, client: SpineClient): Promise<Picture> {
  const { signal } = session;
  const [stats, running, queued] = await Promise.all([
    client.stats({ signal }),
    client.jobs.listPage({ state: 'running', order: 'oldest', limit: JOBS_SHOWN }, undefined, { signal }),
    client.jobs.listPage({ state: 'queued', order: 'oldest', limit: JOBS_SHOWN }, undefined, { signal }),
  ]);
  return { url: session.url, atMs: session.now(), stats, running: running.jobs, oldestQueued: queued.jobs };
}

/** The other screen buffer, without a cursor: what was on the terminal before is there again afterwards. */
const ENTER = '\x1b[?1049h\x1b[?25l';
const LEAVE = '\x1b[?25h\x1b[?1049l';
const HOME = '\x1b[H';
const CLEAR_LINE = '\x1b[K';
const CLEAR_BELOW = '\x1b[J';

async function live(session: Session, client: SpineClient, intervalMs: number): Promise<void> {
  const { stdout } = session.host;
  // A server that is down is said on the usual screen.
  let picture = await look(session, client);
  let before: Picture | null = null;
  const keys = listenForQuit(session);
  stdout.write(ENTER);
  try {
    while (!keys.quit.aborted) {
      draw(session, picture, before);
      await Promise.race([session.sleep(intervalMs), keys.pressed]);
      if (keys.quit.aborted) break;
      before = picture;
      picture = await look(session, client);
    }
  } catch (error) {
    // Ctrl-C is how people leave such a view.
    if (!session.signal.aborted && !keys.quit.aborted) throw error;
  } finally {
    stdout.write(LEAVE);
    keys.stop();
  }
}

function draw(session: Session, picture: Picture, before: Picture | null): void {
  const { stdout } = session.host;
  const size = { columns: stdout.columns || 80, rows: stdout.rows || 24 };
  const lines = screenLines(picture, before, size).map((line) => render(line, session.out.colours));
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
