/** What decides which jobs are handed out now. */

/** A door that is paused hands nothing out to the clients that claim at it; a provider holds back all types that are its own. */
export type PauseKind = 'target' | 'type' | 'door' | 'provider';

export interface Pause {
  readonly kind: PauseKind;
  readonly name: string;
  readonly at: number;
  readonly by: string;
  /** When it ends by itself; null when somebody has to end it. */
  readonly untilAt: number | null;
}

export interface Routing {
  readonly revision: number;
  readonly pausedTargets: ReadonlySet<string>;
  readonly pausedTypes: ReadonlySet<number>;
  readonly pausedDoors: ReadonlySet<string>;
  /** How large the instructions are that each type adds to a claimed job; types without any are left out. */
  readonly typeBytes: ReadonlyMap<number, number>;
  /** The providers of types that have one. */
  readonly providers: ReadonlyMap<number, string>;
  readonly pauses: readonly Pause[];
}
