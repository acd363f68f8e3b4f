/** What is wrong with one schedule, type or pool of a set of files. */

import { SpineError } from '../domain/error.ts';

export interface Problem {
  /** `schedules[3].schedule_cron` */
  readonly field: string;
  readonly problem: string;
}

/** Anything but a fault of the draft ends it all. */
export function problemOf(error: unknown): Problem {
  if (!(error instanceof SpineError) || error.code !== 'bad_request') throw error;
  const { field, problem } = error.details;
  return {
    field: typeof field === 'string' ? field : 'name',
    problem: typeof problem === 'string' ? problem : error.message,
  };
}
