import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { nextAfter } from '../../src/domain/cron.ts';
import { ticksBetween } from '../support/ticks.ts';
import { completeSchedule } from '../../src/domain/schedule-draft.ts';

const at = (text: string) => Date.parse(text);
const iso = (instant: number | null) => (instant === null ? null : new Date(instant).toISOString());

function ticks(cron: string, tz: string, from: string, count: number): (string | null)[] {
  const far = at(from) + 10 * 366 * 86_400_000;
  return ticksBetween({ kind: 'cron', cron, tz }, at(from), far, count).ticks.map(iso);
}

test('a rule for every hour fires each real hour when the clock is put back [SC-20]', () => {
  const expected = ['2026-11-01T05:00:00.000Z', '2026-11-01T06:00:00.000Z', '2026-11-01T07:00:00.000Z'];
  assert.deepEqual(ticks('0 * * * *', 'America/New_York', '2026-11-01T04:30Z', 3), expected);
  assert.deepEqual(ticks('0 0-23 * * *', 'America/New_York', '2026-11-01T04:30Z', 3), expected);
});

test('a named time fires once on the long day, also as one of several', () => {
  assert.deepEqual(ticks('30 1 * * *', 'America/New_York', '2026-10-31T12:00Z', 2), [
    '2026-11-01T05:30:00.000Z',
    '2026-11-02T06:30:00.000Z',
  ]);
  assert.deepEqual(ticks('30 1,13 * * *', 'America/New_York', '2026-11-01T00:00Z', 2), [
    '2026-11-01T05:30:00.000Z',
    '2026-11-01T18:30:00.000Z',
  ]);
});

test('a named time that does not exist fires once, at the next instant', () => {
  const next = (cron: string, tz: string, from: string) => ticks(cron, tz, from, 1)[0];
  assert.equal(next('30 2 * * *', 'America/New_York', '2026-03-08T00:00Z'), '2026-03-08T07:00:00.000Z');
  assert.equal(next('0 0 * * *', 'America/Santiago', '2026-09-05T12:00Z'), '2026-09-06T04:00:00.000Z');
  // Here the clock jumps from 23:00 into the next day.
  assert.equal(next('30 23 * * *', 'America/Nuuk', '2026-03-28T12:00Z'), '2026-03-29T01:00:00.000Z');
  assert.deepEqual(ticks('*/15 2 * * *', 'America/New_York', '2026-03-08T00:00Z', 2), [
    '2026-03-08T07:00:00.000Z',
    '2026-03-09T06:00:00.000Z',
  ]);
});

test('a repeating rule goes on through the hour that comes twice', () => {
  const through = ticks('*/30 1-2 * * *', 'America/New_York', '2026-11-01T04:30Z', 6);
  assert.deepEqual(
    through.map((tick) => tick?.slice(11, 16)),
    ['05:00', '05:30', '06:00', '06:30', '07:00', '07:30'],
  );
});

test('the next tick is strictly later, to the millisecond', () => {
  const rule = { kind: 'cron', cron: '0 2 * * *', tz: 'UTC' } as const;
  assert.equal(iso(nextAfter(rule, at('2026-01-01T01:59:59.999Z'))), '2026-01-01T02:00:00.000Z');
  assert.equal(iso(nextAfter(rule, at('2026-01-01T02:00:00.000Z'))), '2026-01-02T02:00:00.000Z');
  assert.equal(iso(nextAfter(rule, at('2026-01-01T02:00:00.001Z'))), '2026-01-02T02:00:00.000Z');
  const seconds = { kind: 'cron', cron: '*/20 * * * * *', tz: 'UTC' } as const;
  assert.equal(iso(nextAfter(seconds, at('2026-01-01T00:00:19.500Z'))), '2026-01-01T00:00:20.000Z');
});

test('days of the calendar: last day, nearest weekday, nth weekday, either of date and weekday', () => {
  const days = (cron: string, count: number) =>
    ticks(cron, 'UTC', '2026-01-01T12:00Z', count).map((tick) => tick?.slice(0, 10));
  assert.deepEqual(days('0 9 L * *', 2), ['2026-01-31', '2026-02-28']);
  assert.deepEqual(days('0 9 15W * *', 2), ['2026-01-15', '2026-02-16']);
  assert.deepEqual(days('0 9 * * fri#3', 2), ['2026-01-16', '2026-02-20']);
  assert.deepEqual(days('0 9 13 * 5', 3), ['2026-01-02', '2026-01-09', '2026-01-13']);
  assert.deepEqual(days('@weekly', 2), ['2026-01-04', '2026-01-11']);
  assert.deepEqual(days('0 9 29 2 *', 2), ['2028-02-29', '2032-02-29']);
});

test('an interval counts from its anchor, which is its first tick when it lies ahead', () => {
  const rule = { kind: 'every', everyMs: 60_000, anchorAt: 1_000_000 } as const;
  assert.equal(nextAfter(rule, 999_999), 1_000_000);
  assert.equal(nextAfter(rule, 1_000_000), 1_060_000);
  assert.equal(nextAfter(rule, 1_059_999), 1_060_000);
  assert.equal(nextAfter(rule, 1_060_000), 1_120_000);
  assert.equal(nextAfter({ ...rule, everyMs: 0 }, 2_000_000), null);
});

test('a single time has one tick, and none after it', () => {
  assert.equal(nextAfter({ kind: 'at', at: 500 }, 499), 500);
  assert.equal(nextAfter({ kind: 'at', at: 500 }, 500), null);
});

test('missed ticks are listed oldest first, up to a limit that says when it cut', () => {
  const rule = { kind: 'cron', cron: '*/10 * * * *', tz: 'UTC' } as const;
  const [from, until] = [at('2026-05-01T09:00Z'), at('2026-05-01T12:00Z')];
  const all = ticksBetween(rule, from, until, 100);
  assert.deepEqual([all.ticks.length, all.more], [18, false]);
  assert.deepEqual(
    [iso(all.ticks[0] ?? 0), iso(all.ticks[17] ?? 0)],
    ['2026-05-01T09:10:00.000Z', iso(until)],
  );
  assert.deepEqual(ticksBetween(rule, from, until, 5), { ticks: all.ticks.slice(0, 5), more: true });
  assert.deepEqual(ticksBetween(rule, from, until, 18), { ticks: all.ticks, more: false });
  assert.deepEqual(ticksBetween(rule, from, until, 0), { ticks: [], more: true });
});

function refusal(cron: string, tz: string): { field: string; problem: string } | null {
  const draft = { name: 'n', schedule_cron: cron, schedule_tz: tz, payload_message: 'm' };
  const completed = completeSchedule(draft, null, { now: 0, shellAllowed: false, gateways: [] });
  return completed.ok ? null : completed;
}

test('an expression that cannot be used is refused with its field', () => {
  const wrong = [
    '99 * * * *',
    '* * * *',
    '',
    '   ',
    '0 0 0 1 1 * 2030',
    '*/0 * * * *',
    '*/61 * * * *',
    '5/15 * * * *',
    '0 0 32 * *',
    '0 0 * 13 *',
    '0 0 * * 8',
    '0 0 31 2 *',
    '0 0 30 2 *',
    '0 0 31 4,6 *',
    '1-x * * * *',

    '0 0 * * sat-mon',
    '0 0 * * 1#6',
    '0 0 LW,3 * *',
    '0 0 1W2 * *',
    '0 0 15L * *',
    '0 0 * janfeb *',
    '0 0 * xyz *',
    '5* * * * *',
    '1-5* * * * *',
    '+5 * * * *',
    '0 0 * * +',
    '@reboot',
    '@every 5m',
    '-1 * * * *',

    '0 2 * * *\n',
    '0 2 * * \u0000',
    '1,,2 * * * *',
    `${'0,'.repeat(70)}0 * * * *`,
    '2026-01-01T00:00:00',
  ];
  for (const cron of wrong) {
    const problem = refusal(cron, 'UTC');
    assert.equal(problem?.field, 'schedule_cron', cron);
    assert.match(problem?.problem ?? '', /^schedule_cron [^\n]+\.$/, cron);
  }
  for (const tz of ['Mars/X', '', 'UTC\n', 'x'.repeat(100)])
    assert.equal(refusal('0 2 * * *', tz)?.field, 'schedule_tz', tz);
});

test('a refusal says which field is wrong, in the numbers of the caller', () => {
  const words = (cron: string) => refusal(cron, 'UTC')?.problem.replace('schedule_cron cannot be used: ', '');
  assert.equal(words('0 0 * 13 *'), 'the month "13" is not within 1 to 12.');
  assert.equal(words('0 0 0 * *'), 'the day of the month "0" is not within 1 to 31.');
  assert.equal(words('0 0 32W * *'), 'the day of the month "32W" is not within 1 to 31.');
  assert.equal(words('0 0 15L * *'), 'the day of the month "15L" is not understood.');
  assert.equal(words('0 0 * * sat-mon'), "From value is larger than to value: '6-1'.");
  assert.match(words('5/15 * * * *') ?? '', /'5\/15'.*range \(min-max\/step\) instead\.$/);
  assert.match(words('* * * *') ?? '', /^it has 4 fields; write 5 such as/);
});

test('five fields, six fields and nicknames are accepted', () => {
  const right = ['0 2 * * *', '*/20 * * * * *', '@hourly', '@Daily', ' 0  2 * * * ', '0 0 * JAN,jul mon-fri'];
  for (const cron of [
    ...right,
    '0 0 ? * fri-sun',
    '0 0 29 2 *',
    '0 0 L * 5L',
    '0 0 * * 0-7',
    '59 23 31 12 7',
  ])
    assert.equal(refusal(cron, 'Europe/Stockholm'), null, cron);
});

test('an expression that was never judged is an error, not a silent rule', () => {
  assert.throws(() => nextAfter({ kind: 'cron', cron: '99 * * * *', tz: 'UTC' }, 0), /minute "99"/);
});

test('instants beyond all calendars have no next tick', () => {
  for (const after of [Number.NaN, Infinity, 8.64e15, -8.64e15])
    assert.equal(nextAfter({ kind: 'cron', cron: '* * * * *', tz: 'UTC' }, after), null);
});

test('a year of ticks is found quickly', () => {
  const started = performance.now();
  const rule = { kind: 'cron', cron: '*/3 * * * *', tz: 'Europe/Stockholm' } as const;
  assert.equal(
    ticksBetween(rule, at('2026-01-01T00:00Z'), at('2027-01-01T00:00Z'), 200_000).ticks.length,
    175_200,
  );
  const tookMs = performance.now() - started;
  assert.ok(tookMs < 10_000, `it took ${tookMs} ms`);
});

test('the zone of the process changes nothing', () => {
  const source = new URL('../../src/domain/', import.meta.url).href;
  const script = `
    const { nextAfter } = await import('${source}cron.ts');
    const { completeSchedule } = await import('${source}schedule-draft.ts');
    const { ruleInWords } = await import('${source}cron-words.ts');
    const out = [];
    for (const tz of ['UTC', 'America/New_York', 'Asia/Tokyo', 'Europe/Stockholm'])
      for (const cron of ['0 2 * * *', '30 2 * * *', '30 1 * * *', '*/25 * * * *', '0 9 L * *']) {
        let tick = Date.UTC(2026, 1, 1);
        for (let i = 0; i < 60; i++) out.push((tick = nextAfter({ kind: 'cron', cron, tz }, tick)));
        out.push(ruleInWords({ kind: 'cron', cron, tz }));
      }
    const facts = { now: 0, shellAllowed: false, gateways: [] };
    const draft = { name: 'n', at: '2026-07-01T09:00', timezone: 'Europe/Stockholm', payload_message: 'm' };
    console.log(JSON.stringify([out, completeSchedule(draft, null, facts)]));`;
  const [utc, ...others] = ['UTC', 'America/New_York', 'Asia/Tokyo', 'Australia/Lord_Howe'].map((TZ) =>
    execFileSync(process.execPath, ['--input-type=module', '-e', script], {
      env: { ...process.env, TZ },
      encoding: 'utf8',
    }),
  );
  assert.match(utc ?? '', /"scheduleAt":1782889200000/);
  for (const other of others) assert.equal(other, utc);
});

/** An oracle that knows nothing of croner: it walks the minutes of three days and looks at the clock on the wall. */
interface Minute {
  readonly instant: number;
  readonly wall: number;
}

const CHANGES = [
  ['America/New_York', '2026-03-08'],
  ['America/New_York', '2026-11-01'],
  ['Europe/Stockholm', '2026-03-29'],
  ['Europe/Stockholm', '2026-10-25'],
  ['Australia/Lord_Howe', '2026-04-05'],
  ['Australia/Lord_Howe', '2026-10-04'],
  ['America/Santiago', '2026-09-06'],
  ['America/Nuuk', '2026-03-29'],
  ['America/Nuuk', '2026-10-25'],
  ['Asia/Kathmandu', '2026-06-01'],
] as const;

const walks = new Map<string, readonly Minute[]>();

function walk(tz: string, day: string): readonly Minute[] {
  const key = `${tz} ${day}`;
  const format = new Intl.DateTimeFormat('sv-SE', { timeZone: tz, dateStyle: 'short', timeStyle: 'medium' });
  const minutes =
    walks.get(key) ??
    Array.from({ length: 3 * 1_440 }, (_, index) => {
      const instant = at(`${day}T00:00Z`) - 86_400_000 + index * 60_000;
      return { instant, wall: at(`${format.format(instant).replace(' ', 'T')}Z`) };
    });
  walks.set(key, minutes);
  return minutes;
}

interface Shape {
  readonly minute: string;
  readonly hour: string;
  readonly day: string;
  readonly weekday: string;
}

function allowed(field: string, min: number, max: number): Set<number> {
  const values = field.split(',').flatMap((item) => {
    const [span = '', step = '1'] = item.split('/');
    const [from = 0, to = from] = span === '*' ? [min, max] : span.split('-').map(Number);
    const all = Array.from({ length: max + 1 }, (_, value) => value);
    return all.filter((value) => value >= from && value <= to && (value - from) % Number(step) === 0);
  });
  return new Set(values);
}

function expectedTicks(shape: Shape, minutes: readonly Minute[]): number[] {
  const sets = [allowed(shape.minute, 0, 59), allowed(shape.hour, 0, 23)] as const;
  const [days, weekdays] = [allowed(shape.day, 1, 31), allowed(shape.weekday, 0, 6)];
  const shows = (wall: number): boolean => {
    const date = new Date(wall);
    if (!sets[0].has(date.getUTCMinutes()) || !sets[1].has(date.getUTCHours())) return false;
    const fits = [days.has(date.getUTCDate()), weekdays.has(date.getUTCDay())];
    return shape.day !== '*' && shape.weekday !== '*' ? fits.includes(true) : !fits.includes(false);
  };
  const everyHour = sets[1].size === 24;
  const repeats = everyHour || shape.hour.includes('*') || shape.minute.includes('*');
  const seen = new Set<number>();
  let before = (minutes[0]?.wall ?? 0) - 60_000;
  return minutes.flatMap(({ instant, wall }) => {
    let fires = shows(wall) && (repeats || !seen.has(wall));
    for (let lost = before + 60_000; lost < wall; lost += 60_000) fires ||= !everyHour && shows(lost);
    seen.add(wall);
    before = wall;
    return fires ? [instant] : [];
  });
}

const field = (min: number, max: number) => {
  const value = fc.integer({ min, max });
  const range = fc.tuple(value, value).map(([a, b]) => `${Math.min(a, b)}-${Math.max(a, b)}`);
  const step = fc.integer({ min: 1, max: Math.floor(max / 2) });
  const item = fc.oneof(
    value.map(String),
    range,
    fc.tuple(range, step).map(([span, by]) => `${span}/${by}`),
  );
  return fc.oneof(
    fc.constant('*'),
    step.map((by) => `*/${by}`),
    value.map(String),
    fc.array(item, { minLength: 1, maxLength: 3 }).map(String),
  );
};

test('random rules fire when the clock on the wall says so, around every change of it [SC-20]', () => {
  const shape = fc.record({
    minute: field(0, 59),
    hour: fc.oneof(field(0, 23), field(0, 3), fc.constant('23')),
    day: fc.oneof({ weight: 3, arbitrary: fc.constant('*') }, field(1, 31)),
    weekday: fc.oneof({ weight: 3, arbitrary: fc.constant('*') }, field(0, 6)),
  });
  fc.assert(
    fc.property(shape, fc.constantFrom(...CHANGES), (shape, [tz, day]) => {
      const minutes = walk(tz, day);
      const rule = {
        kind: 'cron',
        cron: `${shape.minute} ${shape.hour} ${shape.day} * ${shape.weekday}`,
        tz,
      } as const;
      const first = minutes[0]?.instant ?? 0;
      const last = minutes.at(-1)?.instant ?? 0;
      const expected = expectedTicks(shape, minutes);
      assert.deepEqual(ticksBetween(rule, first - 1, last, 10_000).ticks, expected);
      // Asked from any moment, the answer is the same.
      for (let from = first + 12_345; from < (expected.at(-1) ?? 0); from += 37 * 60_000)
        assert.equal(
          nextAfter(rule, from),
          expected.find((tick) => tick > from),
        );
    }),
    { numRuns: 400 },
  );
});
