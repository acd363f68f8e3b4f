/** What the running server says about itself. */

import { type Readiness, SpineApiError, type Stats } from '../../client/index.ts';
import type { Session } from '../session.ts';
import { duration } from '../text/times.ts';
import type { Finding } from '../host.ts';
import { failing, type HealthDetails, healthDetails, type LoopState } from './health.ts';

export async function checkServer(session: Session): Promise<Finding[]> {
  const { url, token } = session.located();
  const client = await session.client();
  const askedAt = session.now();
  try {
    const health = await client.health();
    const answeredAt = session.now();
    const reachable: Finding = {
      check: 'server',
      status: 'pass',
      message: `Spine ${health.version} answers at ${url.text} (from ${url.origin})`,
    };
    const clock = checkClock(Date.parse(health.time), (askedAt + answeredAt) / 2);
    const version = checkVersion(session.host.version, health.version);
    const ready = checkReady(await client.ready());
    const outside = [reachable, version, clock, ready];
    // The rest is asked of the database, which would not answer.
    if (ready.status === 'fail') return outside;
    return [...outside, ...(await checkInside(session, token?.origin ?? null))];
  } catch (error) {
    const { message, hint } = session.explain(error);
    return [{ check: 'server', status: 'fail', message, ...(hint !== null && { hint }) }];
  }
}

function checkReady({ ready, reason, message }: Readiness): Finding {
  if (ready) return { check: 'readiness', status: 'pass', message: 'the server takes work' };
  const hint = HINTS[reason ?? ''] ?? "Look into the server's log.";
  return { check: 'readiness', status: 'fail', message: message ?? 'the server takes no work', hint };
}

const HINTS: Readonly<Record<string, string>> = {
  database: 'Look whether PostgreSQL runs and can be reached from there; the server goes on by itself.',
  disk_full: 'Free space on the server.',
  starting: 'Wait a moment.',
  stopping: 'Start it again when it has stopped.',
};

function checkVersion(own: string, theirs: string): Finding {
  if (own === theirs)
    return { check: 'version', status: 'pass', message: `command and server are both ${own}` };
  const message = `this command is ${own}, the server ${theirs}`;
  return { check: 'version', status: 'warn', message, hint: 'Restart the server after an update.' };
}

const CLOCK_SKEW_MS = 5_000;

function checkClock(theirs: number, ours: number): Finding {
  const skewMs = Math.abs(theirs - ours);
  if (skewMs < CLOCK_SKEW_MS) return { check: 'clock', status: 'pass', message: 'the clocks agree' };
  const message = `the server's clock is ${duration(skewMs)} ${theirs > ours ? 'ahead of' : 'behind'} this one`;
  return { check: 'clock', status: 'warn', message, hint: 'Let both follow a time server.' };
}

async function checkInside(session: Session, tokenOrigin: string | null): Promise<Finding[]> {
  const client = await session.client();
  let stats: Stats;
  try {
    stats = await client.stats();
  } catch (error) {
    if (!(error instanceof SpineApiError)) throw error;
    const { message, hint } = session.explain(error);
    return [{ check: 'token', status: 'fail', message, ...(hint !== null && { hint }) }];
  }
  const token: Finding = {
    check: 'token',
    status: 'pass',
    message: `the token from ${tokenOrigin ?? 'nowhere'} is accepted`,
  };
  const details = await healthDetails(session);
  return [
    token,
    checkStore(details),
    checkLoops(details, session.now()),
    checkFiles(details),
    checkUnserved(details),
    checkDead(stats),
  ];
}

const MANY_PENDING = 1_000;

function checkStore({ store, pendingCommands = 0 }: HealthDetails): Finding {
  const message = `${store ?? 'unknown'}, ${pendingCommands} commands waiting for a commit`;
  if (pendingCommands < MANY_PENDING) return { check: 'store', status: 'pass', message };
  return { check: 'store', status: 'warn', message, hint: 'The disk or database is slower than the load.' };
}

/** A loop that is this late was stopped or is stuck. */
const LATE_PASSES = 3;
const LATE_MS = 10_000;

function checkLoops(details: HealthDetails, nowMs: number): Finding {
  const { loops = [] } = details;
  const [broken] = failing(details);
  if (broken !== undefined) {
    const message = `${broken.name} failed: ${broken.lastError ?? ''}`;
    return {
      check: 'loops',
      status: 'fail',
      message,
      hint: "It is tried again; look into the server's log.",
    };
  }
  const late = loops.find((loop) => isLate(loop, nowMs));
  if (late !== undefined)
    return {
      check: 'loops',
      status: 'warn',
      message: `${late.name} is late`,
      hint: 'The server is overloaded.',
    };
  return { check: 'loops', status: 'pass', message: `${loops.length} background loops run without errors` };
}

function isLate({ lastRunAt, everyMs }: LoopState, nowMs: number): boolean {
  if (lastRunAt === null || everyMs === undefined) return false;
  return nowMs - lastRunAt > LATE_PASSES * everyMs + LATE_MS;
}

const FILES_LAG_MS = 60_000;

function checkFiles({ files }: HealthDetails): Finding {
  if (!files?.on) return { check: 'files', status: 'pass', message: 'job files are off' };
  const lagMs = Math.max(files.journal?.lagMs ?? 0, files.files?.lagMs ?? 0);
  const message = lagMs < 1_000 ? 'the files are up to date' : `the files are ${duration(lagMs)} behind`;
  if (lagMs < FILES_LAG_MS) return { check: 'files', status: 'pass', message };
  return { check: 'files', status: 'warn', message, hint: 'The disk is slower than the load.' };
}

function checkUnserved({ unserved = [] }: HealthDetails): Finding {
  const [first] = unserved;
  if (first === undefined)
    return { check: 'gateways', status: 'pass', message: 'no work waits for a gateway that is away' };
  const jobs = `${first.queued} ${first.queued === 1 ? 'job waits' : 'jobs wait'} for ${first.target}`;
  const more = unserved.length > 1 ? `, and others for ${unserved.length - 1} more` : '';
  const hint =
    'Start that gateway, or say where it is: SPINE_GATEWAY, OPENCLAW_GATEWAY_URL, SPINE_GATEWAYS. `npx spine config` shows what is set.';
  return { check: 'gateways', status: 'warn', message: `${jobs}${more}. ${first.why}`, hint };
}

function checkDead({ states }: Stats): Finding {
  if (states.dead === 0) return { check: 'dead jobs', status: 'pass', message: 'none' };
  const hint =
    'See them with: npx spine jobs list --state dead; give them new attempts with: npx spine jobs bulk redrive --state dead';
  return { check: 'dead jobs', status: 'warn', message: `${states.dead} used up all attempts`, hint };
}
