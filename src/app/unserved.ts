/** Work that a server would do itself, and none can: its gateway is away, or is none that any of them knows. */

import type { State } from '../domain/job.ts';
import type { ServedGateway } from '../domain/served-gateway.ts';
import type { Core } from '../engine/core.ts';

const GATEWAY = 'gateway:';

export interface Unserved {
  readonly target: string;
  readonly queued: number;
  readonly why: string;
}

/** Null when somebody does it, or when nobody knows yet: a server that starts has not looked. */
export function unservedBecause(target: string, served: readonly ServedGateway[] | null): string | null {
  if (served === null || !target.startsWith(GATEWAY)) return null;
  const name = target.slice(GATEWAY.length);
  const serving = served.filter((one) => one.target === target);
  const [first] = serving;
  if (first === undefined) return `No gateway called ${name} is configured here; the job waits until one is.`;
  if (serving.some(({ ready, why }) => ready || why === null)) return null;
  return `The gateway ${name} takes no work now (${first.why}); the job waits until it does.`;
}

/** By any server of the installation; null while one of them does not know. */
export function servedAnywhere({ gatewaysHere, gatewaysElsewhere }: Core): readonly ServedGateway[] | null {
  const here = gatewaysHere();
  return here === null || gatewaysElsewhere === null ? null : [...here, ...gatewaysElsewhere];
}

/** Of the targets for which work waits. */
export function unservedOf(
  counts: readonly { readonly target: string; readonly state: State; readonly n: number }[],
  served: readonly ServedGateway[] | null,
): Unserved[] {
  return counts.flatMap(({ target, state, n }) => {
    const why = state === 'queued' && n > 0 ? unservedBecause(target, served) : null;
    return why === null ? [] : [{ target, queued: n, why }];
  });
}
