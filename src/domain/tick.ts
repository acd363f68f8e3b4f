/** The tick: a moment at which a schedule was due. */

/** One tick that fired, or a series of ticks that did not. */
export interface Tick {
  readonly scheduleId: string;
  readonly at: number;
  /** `skipped`: its probe found nothing to do. */
  readonly fate: 'fired' | 'missed' | 'skipped';
  readonly jobNo: number | null;
  readonly untilAt: number;
  readonly n: number;
  readonly reason: string | null;
  readonly recordedAt: number;
}

/** A tick whose probe is to be asked before it fires. */
export interface ProbedTick {
  readonly scheduleId: string;
  readonly at: number;
  readonly kind: 'cron' | 'catch_up';
}
