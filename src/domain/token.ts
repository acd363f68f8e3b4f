/** The token: what a caller is known by. */

import type { Grant } from './message.ts';

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
