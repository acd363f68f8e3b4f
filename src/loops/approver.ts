/** Decides approvals that nobody gave in time, as their terms say. */

import { timeOutApproval } from '../engine/approvals.ts';
import type { Core } from '../engine/core.ts';
import type { Duty } from './loop.ts';

const BATCH = 100;

export function approver(core: Core, tickMs: number): Duty {
  return {
    name: 'approvals',
    everyMs: tickMs,
    runOnce: async () => {
      const expired = await core.store.read.approvals.expired(core.now(), BATCH);
      for (const { jobNo, auto } of expired) await timeOutApproval(core, jobNo, auto);
      const nextAt = await core.store.read.approvals.nextAt();
      const nextInMs = nextAt === null ? null : Math.max(0, nextAt - core.now());
      return { done: expired.length, more: expired.length === BATCH, nextInMs };
    },
  };
}
