/** The days of a cron rule in words, for `rule` in answers. Kept apart from the times, which are put together differently. */

import type { CronField, CronRule } from './cron-syntax.ts';

export const EVERY_DAY = 'Every day';
const WEEKDAYS = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'];
const MONTHS = [
  'January',
  'February',
  'March',
  'April',
  'May',
  'June',
  'July',
  'August',
  'September',
  'October',
  'November',
  'December',
];
/** Days that the month has in every year. */
const SURE_DAYS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
/** Longer lists are quoted instead. */
const LISTED = 5;

/** Null when a sentence would be longer than the rule, or not quite true. */
export function daysInWords({ dayOfMonth, month, dayOfWeek }: CronRule): string | null {
  // Croner takes either day when both are restricted, and counts all but a plain star as a restriction.
  const byDate = dayOfMonth.text !== '*' && dayOfMonth.values.length !== 31;
  if (dayOfMonth.text !== '*' && dayOfWeek.text !== '*') return null;
  if (month.values.length > LISTED && month.values.length !== 12) return null;
  if (byDate) return datesInWords(dayOfMonth, month);
  const days = weekdaysInWords(dayOfWeek);
  if (days === null || month.values.length === 12) return days;
  return `${days} in ${monthNames(month)}`;
}

function datesInWords(dayOfMonth: CronField, month: CronField): string | null {
  const everyMonth = month.values.length === 12;
  const months = everyMonth ? 'every month' : monthNames(month);
  if (dayOfMonth.text.toUpperCase() === 'L') return `On the last day of ${months}`;
  const { values } = dayOfMonth;
  if (values.length === 0 || values.length > LISTED) return null;
  const last = values.at(-1) ?? 0;
  const sure = month.values.every((value) => last <= (SURE_DAYS[value - 1] ?? 0));
  // Of a list, some days are in a month and some are not: no short sentence is true.
  if (!sure && (!everyMonth || values.length > 1)) return null;
  if (values.length === 1 && month.values.length === 1) return `Every year on ${last} ${months}`;
  return `On the ${joined(values.map(ordinal))} of ${months}${sure ? '' : ' that has one'}`;
}

function weekdaysInWords({ values }: CronField): string | null {
  const key = values.join();
  if (key === '0,1,2,3,4,5,6') return EVERY_DAY;
  if (key === '1,2,3,4,5') return 'Weekdays';
  if (key === '0,6') return 'Weekends';
  if (values.length === 0 || values.length > LISTED) return null;
  // A week begins on Monday in most of the world's calendars.
  const week = [...values.filter((day) => day > 0), ...values.filter((day) => day === 0)];
  return `Every ${joined(week.map((day) => WEEKDAYS[day] ?? ''))}`;
}

function monthNames({ values }: CronField): string {
  return joined(values.map((month) => MONTHS[month - 1] ?? ''));
}

/** "1st, 2nd and 3rd" */
export function joined(items: readonly string[]): string {
  const last = items.at(-1) ?? '';
  return items.length < 2 ? last : `${items.slice(0, -1).join(', ')} and ${last}`;
}

function ordinal(day: number): string {
  const unit = day > 3 && day < 21 ? 0 : day % 10;
  return `${day}${['th', 'st', 'nd', 'rd'][unit] ?? 'th'}`;
}
