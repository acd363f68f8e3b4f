/** Whether the gateway takes our token. /readyz asks nobody for one, so that a wrong one would show only in failed runs. */

import { at, credentials, type Access } from './access.ts';
import { callWithin } from './http.ts';
import type { Readiness } from './types.ts';

const REFUSED: readonly number[] = [401, 403];

/** Asked again once in a while; a refusal each time, so that a gateway that was set right is noticed soon. */
export function rememberedAuthority(access: Access): () => Promise<Readiness> {
  let takenUntil = -Infinity;
  return async () => {
    if (access.clock.now() < takenUntil) return READY;
    const status = await statusFor(access);
    if (REFUSED.includes(status)) return refusal(access);
    takenUntil = access.clock.now() + access.limits.rememberMs;
    return READY;
  };
}

function refusal({ token }: Access): Readiness {
  const what = token === null ? 'calls without a token' : 'our token';
  return {
    ready: false,
    why: `the gateway refuses ${what}: set OPENCLAW_GATEWAY_TOKEN, or token in SPINE_GATEWAYS`,
  };
}

const READY: Readiness = { ready: true, why: null };

/** A call of no tool does nothing, and is judged by its token first. Zero for a gateway that did not answer: others say so. */
async function statusFor(access: Access): Promise<number> {
  const call = {
    url: at(access, '/tools/invoke'),
    method: 'POST',
    headers: credentials(access),
    body: '{}',
  } as const;
  try {
    return (await callWithin(access.limits.readinessMs, access.clock, call)).status;
  } catch {
    return 0;
  }
}
