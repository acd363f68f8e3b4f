/** Work that this server would do itself, and cannot: its gateway is away, or is none that it knows. */

import type { State } from '../domain/job.ts';
import type { EmbeddedStatus } from '../worker/embedded.ts';

const GATEWAY = 'gateway:';

export interface Unserved {
  readonly target: string;
  readonly queued: number;
  readonly why: string;
}

/** Null when somebody does it, or when nobody knows yet: a server that starts has not looked. */
export function unservedBecause(target: string, workers: readonly EmbeddedStatus[] | null): string | null {
  if (workers === null || !target.startsWith(GATEWAY)) return null;
  const name = target.slice(GATEWAY.length);
  const own = workers.find((worker) => worker.target === target);
  if (own === undefined) return `No gateway called ${name} is configured here; the job waits until one is.`;
  if (own.ready || own.why === null) return null;
  return `The gateway ${name} takes no work now (${own.why}); the job waits until it does.`;
}

/** Of the targets for which work waits. */
export function unservedOf(
  counts: readonly { readonly target: string; readonly state: State; readonly n: number }[],
  workers: readonly EmbeddedStatus[] | null,
): Unserved[] {
  return counts.flatMap(({ target, state, n }) => {
    const why = state === 'queued' && n > 0 ? unservedBecause(target, workers) : null;
    return why === null ? [] : [{ target, queued: n, why }];
  });
}
