/** What decides which jobs are handed out now. */

/** A door that is paused hands nothing out to the clients that claim at it. */
export type PauseKind = 'target' | 'type' | 'door';

export interface Routing {
  readonly revision: number;
  readonly pausedTargets: ReadonlySet<string>;
  readonly pausedTypes: ReadonlySet<number>;
  readonly pausedDoors: ReadonlySet<string>;
  /** How large the instructions are that each type adds to a claimed job; types without any are left out. */
  readonly typeBytes: ReadonlyMap<number, number>;
  readonly pauses: readonly { kind: PauseKind; name: string; at: number; by: string }[];
}
