import type { Random } from '../random.ts';

/** A rule as its parts, so that the oracle never has to read a cron expression. */
export interface Rule {
  readonly zone: string;
  readonly minute: number;
  /** Null means every hour. */
  readonly hours: readonly number[] | null;
  readonly day: number | null;
  /** 0 is Sunday. */
  readonly weekdays: readonly number[] | null;
}

const ZONES = [
  'UTC',
  'America/New_York',
  'Europe/Stockholm',
  'America/Santiago',
  'Pacific/Auckland',
  'Asia/Tokyo',
  'Asia/Kolkata',
  'Australia/Lord_Howe',
];

/** About 300 ticks a year on average; many of them in the hours that a change of the clock skips or repeats. */
export function randomRule(random: Random): Rule {
  const zone = random.pick(ZONES);
  const hour = random.chance(0.5) ? random.int(4) : random.int(24);
  const daily: Rule = { zone, minute: random.int(60), hours: [hour], day: null, weekdays: null };
  const dice = random.next();
  if (dice < 0.5) return daily;
  if (dice < 0.72) return { ...daily, weekdays: [1, 2, 3, 4, 5] };
  if (dice < 0.82) return { ...daily, weekdays: [random.int(7)] };
  if (dice < 0.9) return { ...daily, day: 1 + random.int(31) };
  if (dice < 0.995) return { ...daily, hours: [hour, (hour + 9) % 24].toSorted((a, b) => a - b) };
  // A half-hour change of the clock has no answer that everybody expects of an hourly rule.
  return { ...daily, zone: zone === 'Australia/Lord_Howe' ? 'UTC' : zone, hours: null };
}

export function cronOf({ minute, hours, day, weekdays }: Rule): string {
  return [minute, hours?.join(',') ?? '*', day ?? '*', '*', weekdays?.join(',') ?? '*'].join(' ');
}
