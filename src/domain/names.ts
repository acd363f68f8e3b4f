/** Names that stand for somebody or something already: nobody new gets one of them. */

import { BROADCAST, SCHEDULER } from './message.ts';
import type { Token } from './token.ts';

/** Whose token may have the name; null: no token at all, because what is done under it is the server's own. */
const TAKEN: Readonly<Record<string, Token['role'] | null>> = {
  head: 'head',
  'left-claw': 'worker',
  'right-claw': 'worker',
  any: null,
  all: null,
  system: null,
  broadcast: null,
  scheduler: null,
  bridge: null,
  shell: null,
  nobody: null,
};

export function isTakenName(name: string): boolean {
  return Object.hasOwn(TAKEN, name);
}

/** Without a lease token a name alone says who holds a job: no token speaks under that of somebody with other rights. */
export function mayBeNamed(name: string, role: Token['role']): boolean {
  return !isTakenName(name) || TAKEN[name] === role;
}

/** Of these, whom no message reaches: one stands for all agents, and the others are the server's own. */
const NO_AGENTS: readonly string[] = [BROADCAST, SCHEDULER, 'system'];

export function isNoAgent(name: string): boolean {
  return NO_AGENTS.includes(name);
}
