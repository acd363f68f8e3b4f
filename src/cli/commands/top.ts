/** A live view: one screen, drawn anew until q or Ctrl-C. */

import type { Job, SpineClient, Stats } from '../../client/index.ts';
import type { Handler } from '../command.ts';
import { usage } from '../failure.ts';
import type { Session } from '../session.ts';
import { liveView } from './live-view.ts';
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
  if (!session.host.stdout.isTTY) throw usage('top needs a terminal.', 'Use: npx spine top --once');
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

async function live(session: Session, client: SpineClient, intervalMs: number): Promise<void> {
  let last: Picture | null = null;
  await liveView(session, intervalMs, async () => {
    const before = last;
    const picture = await look(session, client);
    last = picture;
    return (size) => screenLines(picture, before, size);
  });
}
