/** The token: what a caller is known by. */

import type { Actor } from './command.ts';
import type { Grant } from './message.ts';

/** Who the tokens of the settings stand for, and those that an installation makes for itself: the three roles of v0. */
export const FIRST_ROLES = {
  head: { name: 'head', role: 'head', targets: null },
  left_claw: { name: 'left-claw', role: 'worker', targets: ['left-claw', 'any'] },
  right_claw: { name: 'right-claw', role: 'worker', targets: ['right-claw', 'any'] },
} as const satisfies Readonly<Record<string, Actor>>;

export type FirstRole = keyof typeof FIRST_ROLES;

export interface Token {
  readonly id: string;
  readonly name: string;
  readonly role: 'head' | 'worker' | 'viewer';
  readonly targets: readonly string[] | null;
  /** Kinds of messages that it may send to other agents, beside those that need no grant. */
  readonly grants: readonly Grant[] | null;
  /** SHA-256 of the token; the token itself is known to its owner alone. */
  readonly hash: string;
  readonly createdAt: number;
  readonly createdBy: string;
  readonly revokedAt: number | null;
}
