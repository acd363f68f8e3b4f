import type { LogLevel, LogLine, SpineClient } from '../../client/index.ts';
import type { Handler } from '../command.ts';
import type { Session } from '../session.ts';
import { type Line, type Style, styled } from '../text/line.ts';
import { hasEnded } from '../text/states.ts';
import { jobRef } from './job-ref.ts';

interface Options {
  readonly follow?: boolean;
  readonly level?: LogLevel;
  readonly after?: number;
}

const LOOK_AGAIN_MS = 500;
/** A server that restarts is waited for while a log is followed. */
const PATIENT = { retries: 8 };

export const showLogs: Handler<Options> = async (session, { args: [name = ''], options }) => {
  const client = await session.client();
  const job = await client.jobs.get(await jobRef(client, name));
  let last = await print(session, client, job.id, options.after ?? 0, options.level);
  if (!options.follow) return;
  for (;;) {
    // Asked for first: lines written before the end are then read after it.
    const { state } = await client.jobs.get(job.id, PATIENT);
    last = await print(session, client, job.id, last, options.level);
    if (hasEnded(state)) return session.out.info(`Job #${job.no} is ${state}.`);
    await session.sleep(LOOK_AGAIN_MS);
  }
};

const LEVELS: readonly LogLevel[] = ['debug', 'info', 'warn', 'error'];
const STYLES: Readonly<Record<LogLevel, Style>> = {
  debug: 'dim',
  info: 'reset',
  warn: 'yellow',
  error: 'red',
};

async function print(
  session: Session,
  client: SpineClient,
  id: string,
  after: number,
  level: LogLevel = 'debug',
): Promise<number> {
  let last = after;
  for await (const line of client.jobs.logs(id, { after }, { ...PATIENT, signal: session.signal })) {
    last = line.no;
    if (LEVELS.indexOf(line.level) >= LEVELS.indexOf(level)) session.out.record(line, () => [logLine(line)]);
  }
  return last;
}

function logLine({ t, level, text }: LogLine): Line {
  return [styled('dim', t), ' ', styled(STYLES[level], level.padEnd(5)), ` ${text}`];
}
