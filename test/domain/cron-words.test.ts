import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { ticksBetween } from '../support/ticks.ts';
import { ruleInWords } from '../../src/domain/cron-words.ts';

const cron = (text: string, tz = 'UTC') => ruleInWords({ kind: 'cron', cron: text, tz });
const every = (everyMs: number) => ruleInWords({ kind: 'every', everyMs, anchorAt: 0 });

test('rules are put into words', () => {
  const words: Readonly<Record<string, string>> = {
    '0 2 * * *': 'Every day at 02:00 UTC',
    '*/10 * * * *': 'Every 10 minutes',
    '0,30 * * * *': 'Every 30 minutes',
    '* * * * *': 'Every minute',
    '0 * * * *': 'Every hour',
    '@hourly': 'Every hour',
    '15 * * * *': 'Every hour at minute 15 UTC',
    '*/15 * * * * *': 'Every 15 s',
    '* * * * * *': 'Every second',
    '30 6 1 * *': 'On the 1st of every month at 06:30 UTC',
    '0 6 1,15 * *': 'On the 1st and 15th of every month at 06:00 UTC',
    '0 6 31 * *': 'On the 31st of every month that has one at 06:00 UTC',
    '0 6 L * *': 'On the last day of every month at 06:00 UTC',
    '@yearly': 'Every year on 1 January at 00:00 UTC',
    '0 9 * * 1': 'Every Monday at 09:00 UTC',
    '0 9 * * sun,wed': 'Every Wednesday and Sunday at 09:00 UTC',
    '0 9 * * 6,0': 'Weekends at 09:00 UTC',
    '0 9,17 * * *': 'Every day at 09:00 and 17:00 UTC',
    '30 0 9 * * *': 'Every day at 09:00:30 UTC',
    '*/10 9-17 * * 1-5': 'Weekdays, every 10 minutes from 09:00 to 17:50 UTC',
    '0 */2 * * *': 'Every day, every 2 hours from 00:00 to 22:00 UTC',
    '0 9-17 * 3 *': 'Every day in March, every hour from 09:00 to 17:00 UTC',
  };
  for (const [text, sentence] of Object.entries(words)) assert.equal(cron(text), sentence, text);
  assert.equal(cron('0 9 * * 1-5', 'Europe/Stockholm'), 'Weekdays at 09:00 Europe/Stockholm');
});

test('intervals, single times and no clock at all are put into words', () => {
  assert.deepEqual([15_000, 1_000, 60_000, 600_000, 3_600_000, 7_200_000, 1_500].map(every), [
    'Every 15 s',
    'Every second',
    'Every minute',
    'Every 10 minutes',
    'Every hour',
    'Every 2 hours',
    'Every 1500 ms',
  ]);
  assert.equal(ruleInWords({ kind: 'at', at: Date.UTC(2026, 10, 16, 9) }), 'Once at 2026-11-16T09:00:00Z');
  assert.equal(ruleInWords(null), 'Only after its parent, or by hand');
});

test('what is too complicated is quoted', () => {
  for (const text of [
    '*/7 3-5 * 2 1-3',
    '*/7 * * * *',
    '0 9 13 * 5',
    '0 9 */1 * 1',
    '0 9 15W * *',
    '0 9 29 2 *',
  ])
    assert.equal(cron(text, 'Europe/Berlin'), `By the rule "${text}" Europe/Berlin`);
  // The clock of Lord Howe moves by half an hour: the distance is kept by its clock only.
  assert.equal(
    cron('0 * * * *', 'Australia/Lord_Howe'),
    'Every day, every hour from 00:00 to 23:00 Australia/Lord_Howe',
  );
});

const DAY_MS = 86_400_000;
const FROM = Date.UTC(2026, 0, 1);
const MONTHS = 'January February March April May June July August September October November December'.split(
  ' ',
);
const WEEKDAYS = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'];

/** Reads a sentence back, without knowing the rule: the days and the minutes of a day that it promises. */
function promisedDay(words: string): (date: Date) => boolean {
  const [, days = words, months] = /^(.*?) in (.*)$/.exec(words) ?? [];
  const month = (date: Date) => MONTHS[date.getUTCMonth()] ?? '?';
  const inMonth = (date: Date) => months === undefined || months.includes(month(date));
  const dates = /^On the (.*) of (.*?)(?: that has one)?$/.exec(days);
  if (dates !== null) {
    const numbers = [...(dates[1] ?? '').matchAll(/\d+/g)].map(Number);
    return (date) =>
      (dates[2] === 'every month' || dates[2]?.includes(month(date)) === true) &&
      numbers.includes(date.getUTCDate());
  }
  const yearly = /^Every year on (\d+) (.*)$/.exec(days);
  if (yearly !== null) return (date) => date.getUTCDate() === Number(yearly[1]) && month(date) === yearly[2];
  if (days === 'Every day') return inMonth;
  if (days === 'Weekdays') return (date) => inMonth(date) && date.getUTCDay() % 6 !== 0;
  if (days === 'Weekends') return (date) => inMonth(date) && date.getUTCDay() % 6 === 0;
  return (date) => inMonth(date) && days.includes(WEEKDAYS[date.getUTCDay()] ?? '?');
}

function promisedMinutes(words: string): number[] {
  const clocks = [...words.matchAll(/(\d\d):(\d\d)/g)].map(
    ([, hour, minute]) => Number(hour) * 60 + Number(minute),
  );
  const repeated = /every (?:(\d+) )?(minute|hour)s? from/.exec(words);
  if (repeated === null) return clocks;
  const step = Number(repeated[1] ?? 1) * (repeated[2] === 'hour' ? 60 : 1);
  const [from = 0, to = 0] = clocks;
  return Array.from({ length: Math.floor((to - from) / step) + 1 }, (_, index) => from + index * step);
}

function promisedTicks(sentence: string): number[] {
  const steady = /^Every (?:(\d+) )?(minute|hour)s?(?: at minute (\d+) UTC)?$/.exec(sentence);
  if (steady !== null) {
    const step = Number(steady[1] ?? 1) * (steady[2] === 'hour' ? 60 : 1);
    return Array.from(
      { length: 3_000 },
      (_, index) => FROM + (index * step + Number(steady[3] ?? 0)) * 60_000,
    );
  }
  const [, days = '', times = ''] =
    /^(.*?)(?:,? (?=at \d\d:|every \d|every (?:minute|hour) from))(.*) UTC$/.exec(sentence) ?? [];
  const isPromised = promisedDay(days);
  const minutes = promisedMinutes(times);
  return Array.from({ length: 400 }, (_, index) => FROM + index * DAY_MS)
    .filter((day) => isPromised(new Date(day)))
    .flatMap((day) => minutes.map((minute) => day + minute * 60_000));
}

test('every sentence is true of what the rule does', () => {
  const some = (...texts: string[]) => fc.constantFrom(...texts);
  const number = (min: number, max: number) => fc.integer({ min, max }).map(String);
  const rule = fc.tuple(
    fc.oneof(some('0', '30', '*', '*/5', '*/10', '*/7', '0,30', '10,20'), number(0, 59)),
    fc.oneof(some('*', '*/2', '*/5', '9-17', '8,12,18', '0-23', '1-9/4', '7-8'), number(0, 23)),
    fc.oneof({ weight: 4, arbitrary: some('*') }, some('1,15', '*/1', '*/2', '30,31', '1-31'), number(1, 31)),
    fc.oneof({ weight: 3, arbitrary: some('*') }, some('1,7', '*/3', 'feb', '2-4'), number(1, 12)),
    fc.oneof(
      { weight: 2, arbitrary: some('*') },
      some('1-5', '0,6', '6-7', 'mon,wed', '2-6', '*/2', '0-6'),
      number(0, 7),
    ),
  );
  let spoken = 0;
  fc.assert(
    fc.property(rule, (fields) => {
      const text = fields.join(' ');
      const sentence = cron(text);
      if (sentence.startsWith('By the rule')) return;
      spoken++;
      const { ticks } = ticksBetween(
        { kind: 'cron', cron: text, tz: 'UTC' },
        FROM - 1,
        FROM + 400 * DAY_MS - 1,
        3_000,
      );
      assert.deepEqual(
        ticks,
        promisedTicks(sentence).slice(0, ticks.length === 3_000 ? 3_000 : undefined),
        `${text}: ${sentence}`,
      );
    }),
    { numRuns: 600 },
  );
  assert.ok(spoken > 200, `only ${spoken} rules were put into words`);
});
