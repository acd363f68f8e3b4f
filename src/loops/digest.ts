/** Tells what a day came to, at its time. */

import { nextAt } from '../domain/day.ts';
import type { Core } from '../engine/core.ts';
import { sendDigest } from '../engine/digest.ts';
import type { Duty } from './loop.ts';

export function digest(core: Core, minute: number): Duty {
  return {
    name: 'digest',
    everyMs: 60_000,
    runOnce: async () => {
      const sent = await sendDigest(core, minute);
      const now = core.now();
      return { done: sent ? 1 : 0, more: false, nextInMs: nextAt(core.dayTz, minute, now) - now };
    },
  };
}
