/** A bench: who is measured at what, and which ratios are expected. */

import type { Phase } from './phase.ts';

export interface Bench {
  /** As it is said on the command line. */
  readonly name: string;
  readonly title: string;
  readonly store: 'sqlite' | 'postgres';
  readonly entrants: readonly Entrant[];
  readonly bars: readonly Bar[];
  /** What is measured, when it is not jobs a second. */
  readonly unit?: 'ms' | 'MB';
  readonly limits?: readonly Limit[];
}

export interface Entrant {
  readonly name: string;
  readonly phase: Phase;
}

/** `ours` must reach `atLeast` times `theirs` at what is measured. A goal may be missed, a bar may not. */
export interface Bar {
  readonly ours: string;
  readonly theirs: string;
  readonly measure: string;
  readonly atLeast: number;
  readonly goal?: number;
}

/** What an entrant measures must stay below this, in the unit of the bench. */
export interface Limit {
  readonly entrant: string;
  readonly measure: string;
  readonly below: number;
  readonly goal?: number;
}

/** How much work a run does; --quick does less. */
export interface Size {
  jobs(full: number): number;
  ms(full: number): number;
}
