import { deepStrictEqual, strictEqual } from 'node:assert';
import { test } from 'node:test';
import { botPriorityOf, BOT_PRIORITIES } from '../../src/domain/bot.ts';
import { LIMITS } from '../../src/domain/limits.ts';
import { raised } from '../../src/domain/priority.ts';
import { askedPriority, rescored, scored, scoreOf } from '../../src/domain/scoring.ts';
import { jobIn, NOW } from './fixtures.ts';

const HOUR_MS = 3_600_000;

test('points for the type, for tags and for whole points of age add up, to no more than the most [TQ-45]', () => {
  const scoring = { points: 1, tags: { watchlist: 3, trending: 2 }, perHour: 0.5, max: 8 };
  for (const [tags, hours, score] of [
    [[], 0, 1],
    [['watchlist'], 0, 4],
    [['watchlist', 'trending', 'other'], 0, 6],
    [['trending'], 3.9, 4],
    [['trending'], 4, 5],
    [['watchlist', 'trending'], 100, 8],
    [['constructor', '__proto__'], 0, 1],
  ] as const)
    strictEqual(scoreOf(scoring, tags, hours * HOUR_MS), score, `${tags.join()} ${hours}`);
  strictEqual(scoreOf({}, ['watchlist'], 1_000 * HOUR_MS), 0);
});

test('unless a type says otherwise no bot passes a task with a more urgent word [TQ-45]', () => {
  const scoring = { points: 1_000, tags: { all: 1_000 }, perHour: 1_000 };
  for (const [word, priority] of Object.entries(BOT_PRIORITIES)) {
    const most = scored(scoring, { priority, tags: ['all'], readyAt: 0 }, NOW);
    strictEqual(botPriorityOf(most.priority), word);
    strictEqual(most.scoreAt, null, 'there is no further point to be had');
  }
});

test('the next point comes when the rule says so, and asking again at that time gives it [TQ-45]', () => {
  const scoring = { perHour: 3 };
  let at = NOW;
  for (let point = 0; point < 9; point++) {
    const { score, priority, scoreAt } = scored(scoring, { priority: 10, tags: [], readyAt: NOW }, at);
    deepStrictEqual([score, priority], [point, 10 + point]);
    strictEqual(scored(scoring, { priority: 10, tags: [], readyAt: NOW }, (scoreAt ?? 0) - 1).score, point);
    at = scoreAt ?? 0;
  }
  strictEqual(scored(scoring, { priority: 10, tags: [], readyAt: NOW }, at).scoreAt, null);
});

test('what stands in front stays there, and no points reach beyond what can be asked for [TQ-45]', () => {
  const front = { ...jobIn('queued'), priority: raised(12), score: 2, createdAt: NOW - HOUR_MS };
  const next = rescored(front, { perHour: 4 }, [], NOW);
  deepStrictEqual([next.priority, next.score, askedPriority(next)], [raised(14), 4, 10]);
  const top = scored({ points: 5 }, { priority: LIMITS.priority - 2, tags: [], readyAt: NOW }, NOW);
  deepStrictEqual([top.priority, top.score], [LIMITS.priority, 2]);
});
