/** The probe of a schedule: what is asked, when a tick is due, whether there is anything to do. */

import { summaryOf } from './output.ts';

/** What it said. `unsure`: it failed, or said nothing in time. */
export interface ProbeAnswer {
  readonly verdict: 'stale' | 'fresh' | 'unsure';
  readonly said: string;
}

/** Anything else is a command. */
export function isProbeUrl(probe: string): boolean {
  return /^https?:\/\//i.test(probe);
}

/** Exit code 0 says that there is something to do, 1 that there is not. */
export function answerOfCommand(end: {
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
}): ProbeAnswer {
  const { exitCode, stdout, stderr } = end;
  const said = summaryOf(stdout.trim() === '' ? stderr : stdout);
  if (exitCode === 0) return { verdict: 'stale', said };
  if (exitCode === 1) return { verdict: 'fresh', said };
  return unsure(`exit code ${exitCode ?? 'none'}${said === '' ? '' : `: ${said}`}`);
}

/** 2xx says that there is something to do, unless it is 204 or says `"stale": false`; so does 304. */
export function answerOfPage(status: number, body: string): ProbeAnswer {
  if (status === 204 || status === 304) return { verdict: 'fresh', said: `it answered ${status}` };
  if (status < 200 || status > 299) return unsure(`it answered ${status}`);
  const { stale, reason } = fieldsIn(body);
  const said = typeof reason === 'string' ? summaryOf(reason) : `it answered ${status}`;
  return { verdict: stale === false ? 'fresh' : 'stale', said };
}

export function unsure(said: string): ProbeAnswer {
  return { verdict: 'unsure', said };
}

function fieldsIn(body: string): { readonly stale?: unknown; readonly reason?: unknown } {
  try {
    const value: unknown = JSON.parse(body);
    return typeof value === 'object' && value !== null ? value : {};
  } catch {
    return {};
  }
}
