import { rejects } from 'node:assert';
import type { TestContext } from 'node:test';
import type { Clock } from '../../src/domain/ports.ts';
import {
  type Gateway,
  GatewayError,
  type GatewayErrorKind,
  type GatewayOptions,
  openGateway,
  type Turn,
  type TurnRef,
} from '../../src/gateway/gateway.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { type StandIn, startStandIn } from '../support/gateway/stand-in.ts';

const TOKEN = 'token-of-the-stand-in';
export const KEY = 'agent:main:scheduler:s1:r1:1';

export const TURN: Turn = {
  agentId: 'main',
  sessionKey: 'scheduler:s1:r1:1',
  runKey: 'r1:1',
  message: 'say hello',
  model: null,
  thinking: null,
  timeoutMs: null,
};

export interface Pair {
  readonly gateway: Gateway;
  readonly standIn: StandIn;
  readonly clock: Clock;
}

type Changes = Partial<GatewayOptions> & { readonly standInToken?: string | null };

/** A stand-in and a client of it, both gone when the test ends. */
export async function open(t: TestContext, changes: Changes = {}): Promise<Pair> {
  const { standInToken = TOKEN, ...options } = changes;
  const standIn = await startStandIn({ token: standInToken });
  const clock = options.clock ?? systemClock();
  const gateway = openGateway({
    name: 'test',
    url: standIn.url,
    token: TOKEN,
    hookToken: null,
    cli: '/nonexistent/openclaw',
    cliEnv: {},
    clock,
    ...options,
  });
  t.after(async () => {
    await gateway.close();
    await standIn.stop();
  });
  return { gateway, standIn, clock };
}

export function refOf(turn: Turn, transport: TurnRef['transport'] = 'websocket'): TurnRef {
  const { agentId, sessionKey, runKey } = turn;
  return { agentId, sessionKey, runKey, transport, startedAt: Date.now() };
}

export const never = new AbortController().signal;
export const ignore = (): void => {};

/** The work fails with a GatewayError of this kind, and says whether the turn had been taken. */
export async function failsAs(
  work: Promise<unknown>,
  kind: GatewayErrorKind,
  accepted: boolean,
): Promise<GatewayError> {
  let caught: unknown;
  await rejects(work, (error) => {
    caught = error;
    return error instanceof GatewayError && error.kind === kind && error.accepted === accepted;
  });
  return caught as GatewayError;
}
