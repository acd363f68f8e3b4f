/** The tick: a moment at which a schedule was due. */

/** One tick that fired, or a series of ticks that did not. */
export interface Tick {
  readonly scheduleId: string;
  readonly at: number;
  readonly fate: 'fired' | 'missed';
  readonly jobNo: number | null;
  readonly untilAt: number;
  readonly n: number;
  readonly reason: string | null;
  readonly recordedAt: number;
}
