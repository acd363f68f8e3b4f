import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { FeedEntry, FeedPlace, JobEvent } from '../../src/domain/event.ts';
import { entriesText, eventsOfJob, pushEntries } from '../../src/store/sql/packed-events.ts';

const CLAIMED: JobEvent = {
  jobNo: 7,
  seq: 2,
  at: 5,
  kind: 'job.claimed',
  by: 'a "b" \\ ü',
  facts: { attempt: 1, leaseUntil: 9 },
};

/** Each differs from the one before it in one thing. */
const VARIED: readonly JobEvent[] = [
  CLAIMED,
  { ...CLAIMED, jobNo: 8 },
  { ...CLAIMED, jobNo: 9, seq: 3 },
  { ...CLAIMED, facts: { attempt: 2, leaseUntil: 9 } },
  { ...CLAIMED, facts: { attempt: 2 } },
  { ...CLAIMED, facts: { attempt: 2, leaseUntil: 9 } },
  { ...CLAIMED, facts: null },
  { ...CLAIMED, facts: { list: [1, null] } },
  { ...CLAIMED, facts: { list: [1, 2] } },
  { ...CLAIMED, by: 'other' },
  { ...CLAIMED, kind: 'job.completed' },
  // Files of v0 bring kinds of their own.
  { ...CLAIMED, kind: 'a "kind" \\ \n' as JobEvent['kind'] },
  { ...CLAIMED, at: 6 },
];

/** What the commit at place 3 tells. */
function entriesFrom(
  text: string,
  after: FeedPlace = { pos: 2, ordinal: 5 },
  limit = Number.MAX_SAFE_INTEGER,
): FeedEntry[] {
  const entries: FeedEntry[] = [];
  pushEntries(entries, text, 3, after, limit);
  return entries;
}

test('a commit tells every event as it was, at its place', () => {
  const entries = entriesFrom(entriesText(VARIED, (place) => place));
  assert.deepEqual(
    entries,
    VARIED.map((event, ordinal) => ({ ...event, pos: 3, ordinal })),
  );
});

test('a commit keeps the places of events between which others are missing', () => {
  const places = [0, 1, 4, 5, 9, 10, 11, 12, 20, 21, 22, 23, 30];
  const entries = entriesFrom(entriesText(VARIED, (place) => places[place] ?? 0));
  assert.deepEqual(
    entries.map(({ ordinal }) => ordinal),
    places,
  );
});

test('a commit tells what comes after a place, and no more than is wanted', () => {
  const places = [0, 1, 4, 5, 9, 10, 11, 12, 20, 21, 22, 23, 30];
  const text = entriesText(VARIED, (place) => places[place] ?? 0);
  const all = entriesFrom(text);
  for (const [i, ordinal] of places.entries()) {
    assert.deepEqual(entriesFrom(text, { pos: 3, ordinal }), all.slice(i + 1));
    assert.deepEqual(entriesFrom(text, { pos: 3, ordinal }, 2), all.slice(i + 1, i + 3));
  }
});

test('what happens alike to a thousand jobs is told once', () => {
  const alike = Array.from({ length: 1_000 }, (_, i) => ({ ...CLAIMED, jobNo: i, facts: { attempt: 1 } }));
  const text = entriesText(alike, (place) => place);
  assert.equal(text.split('job.claimed').length, 2);
  assert.deepEqual(
    entriesFrom(text).map(({ jobNo }) => jobNo),
    alike.map(({ jobNo }) => jobNo),
  );
});

test('a commit tells the events of one job among all others', () => {
  const text = entriesText(VARIED, (place) => place);
  assert.deepEqual(
    eventsOfJob(text, 7),
    VARIED.filter(({ jobNo }) => jobNo === 7),
  );
  assert.deepEqual(eventsOfJob(text, 1), []);
});
