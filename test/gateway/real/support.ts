import { setTimeout as sleep } from 'node:timers/promises';
import {
  type Activity,
  type Gateway,
  openGateway,
  type Transport,
  type Turn,
  type TurnRef,
} from '../../../src/gateway/gateway.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import type { RealGateway } from '../../support/gateway/real-gateway.ts';
import { type Steering, steer } from '../../support/gateway/stub-model.ts';

export const TRANSPORTS = ['websocket', 'chat'] as const;
export const never = new AbortController().signal;
export const ignore = (): void => {};

let turns = 0;

/** A turn in a session of its own, in which the model does this. */
export function turnOf(steering: Steering, changes: Partial<Turn> = {}): Turn {
  const run = `run${++turns}`;
  return {
    agentId: 'main',
    sessionKey: `scheduler:job:${run}:1`,
    runKey: `${run}:1`,
    message: steer(steering),
    model: null,
    thinking: null,
    timeoutMs: null,
    ...changes,
  };
}

export function refOf({ agentId, sessionKey, runKey }: Turn, transport: Transport): TurnRef {
  return { agentId, sessionKey, runKey, transport, startedAt: Date.now() };
}

export function clientOf({ url, token, hookToken, cli }: RealGateway, withHook = true): Gateway {
  return openGateway({
    name: 'real',
    url,
    token,
    hookToken: withHook ? hookToken : null,
    cli,
    cliEnv: { PATH: process.env['PATH'] ?? '', HOME: process.env['HOME'] ?? '' },
    clock: systemClock(),
    limits: { pollMs: 500 },
  });
}

/** Looks until the condition holds, at most for half a minute. */
export async function eventually(what: string, condition: () => boolean | Promise<boolean>): Promise<void> {
  const until = Date.now() + 30_000;
  while (!(await condition())) {
    if (Date.now() > until) throw new Error(`waited in vain until ${what}`);
    await sleep(100);
  }
}

/** What is seen of a turn in this time, four times a second. */
export async function watch(gateway: Gateway, turn: TurnRef, ms: number): Promise<readonly Activity[]> {
  const seen: Activity[] = [];
  for (const until = Date.now() + ms; Date.now() < until; await sleep(250))
    seen.push(await gateway.activity(turn));
  return seen;
}
