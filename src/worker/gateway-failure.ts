/** What a gateway's refusal means for the job: to be put off, to fail, and what its owner can do. */

import { JobFailure, PutOff } from '../client/errors.ts';
import type { GatewayError } from '../gateway/gateway.ts';

const PUT_OFF_MS = 5_000;

/** Nothing was taken: the work has not begun. */
export function isTurnedAway({ kind, accepted }: GatewayError): boolean {
  return !accepted && (kind === 'down' || kind === 'draining');
}

/** Nothing was taken, and the next turn would fare no better. */
export function isTurnedAwayWithAll(error: GatewayError): boolean {
  const isRefusal = error.kind === 'unauthorized' || error.kind === 'rate_limited';
  return isTurnedAway(error) || (!error.accepted && isRefusal);
}

export function putOff(error: GatewayError, afterMs = PUT_OFF_MS): PutOff {
  return new PutOff(error.retryAfterMs ?? afterMs, error.message);
}

/** The turn was taken, and nobody knows what became of it. */
export function isLost({ kind, accepted }: GatewayError): boolean {
  return kind === 'lost' || (accepted && (kind === 'down' || kind === 'draining'));
}

export function failureOf(error: GatewayError, gateway: string, agentId: string): JobFailure {
  const { kind, usage } = error;
  const message = `${error.message}${adviceFor(error, gateway, agentId)}`;
  return new JobFailure(message, {
    details: { kind, gateway, ...(usage && { usage }) },
    cause: kind === 'timeout' ? 'timeout' : null,
  });
}

/** Gateways refuse in words. Each hint goes with what the words are about; the first that fits is said. */
const REFUSALS: readonly (readonly [RegExp, (gateway: string, agentId: string) => string])[] = [
  [/too large/i, () => 'shorten payload_message'],
  [/session/i, () => 'check preferred_session_key of the schedule'],
  [/thinking/i, () => 'check payload_thinking of the schedule'],
  [/model/i, () => 'check payload_model of the schedule'],
  [/agent/i, (gateway, agentId) => `check that the gateway ${gateway} has an agent "${agentId}"`],
];

function adviceFor({ kind, message }: GatewayError, gateway: string, agentId: string): string {
  if (kind === 'unauthorized') {
    const where =
      gateway === 'main' ? 'OPENCLAW_GATEWAY_TOKEN' : `the token of "${gateway}" in SPINE_GATEWAYS`;
    return ` (set ${where} to the token of this gateway)`;
  }
  if (kind !== 'refused') return '';
  const [, hint] = REFUSALS.find(([words]) => words.test(message)) ?? [];
  return hint === undefined ? '' : ` (${hint(gateway, agentId)})`;
}

/** Nobody's fault. Done again only where the schedule says that twice is better than never. */
export function crashed(message: string, replayed: boolean): JobFailure {
  return new JobFailure(message, { requeue: replayed, cause: 'crashed' });
}
