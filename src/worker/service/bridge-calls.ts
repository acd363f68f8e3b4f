/** What a worker with a slot asks of the server, beside its jobs. */

import type { Caller } from '../../client/caller.ts';

export interface SlotFacts {
  readonly slot: string;
  readonly status: 'idle' | 'working' | 'offline';
  readonly task: string | null;
  readonly taskTitle: string | null;
  readonly sessionId: string | null;
  readonly lastUpdate: number;
  readonly metadata: Readonly<Record<string, unknown>>;
}

export interface StartedSlot {
  readonly heartbeat: SlotFacts;
  readonly staleMs: number;
  readonly heartbeatsFile: string | null;
  /** The task that the slot's last process left undone, and that went back. */
  readonly recovered: string | null;
}

export interface Beat {
  readonly slot: string;
  readonly instance: string;
  readonly status: SlotFacts['status'];
  readonly task?: string | null;
  readonly attempt?: number | null;
  readonly taskTitle?: string | null;
  readonly sessionId?: string | null;
  readonly metadata?: Readonly<Record<string, unknown>>;
}

const CALL_MS = 10_000;

export class BridgeCalls {
  readonly #caller: Caller;

  constructor(caller: Caller) {
    this.#caller = caller;
  }

  async slot(name: string): Promise<SlotFacts | null> {
    const call = { method: 'GET', path: '/api/heartbeats', repeatable: true } as const;
    const { workers } = await this.#caller.json<{ workers: Record<string, SlotFacts> }>(call);
    return workers[name] ?? null;
  }

  start(json: {
    readonly slot: string;
    readonly instance: string;
    readonly gone: string | null;
    readonly metadata: Readonly<Record<string, unknown>>;
  }): Promise<StartedSlot> {
    const path = '/api/heartbeats/start';
    return this.#caller.json({ method: 'POST', path, json, repeatable: true, options: ONCE });
  }

  /** The next one comes soon: a beat that fails is not sent again. */
  beat(json: Beat): Promise<SlotFacts> {
    return this.#caller.json({
      method: 'POST',
      path: '/api/heartbeats',
      json,
      repeatable: true,
      options: ONCE,
    });
  }
}

const ONCE = { retries: 0, timeoutMs: CALL_MS } as const;
