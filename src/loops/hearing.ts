/** Writes down at once who was heard after a silence, where leases rest on it. */

import { loopActor } from '../domain/actor.ts';
import type { Core } from '../engine/core.ts';
import { keepHeard } from '../engine/keep-heard.ts';
import type { Duty } from './loop.ts';

const HEARING = loopActor('hearing');
const POLL_MS = 60_000;

export function hearing(core: Core): Duty {
  return {
    name: 'hearing',
    everyMs: POLL_MS,
    runOnce: async () => {
      const { heard, full } = await keepHeard(core, HEARING);
      return { done: heard, more: full };
    },
  };
}
