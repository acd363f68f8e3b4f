/** What the runs of a schedule said before this one. A retry or a replay is told what the first run of its lineage was told. */

import type { Actor } from '../domain/command.ts';
import { rawOutput, sentinelOf, summaryOf } from '../domain/output.ts';
import { byRelevance, wordsOf } from '../domain/relevance.ts';
import type { PriorRun, PriorRunsWanted, RunSummary } from '../domain/run.ts';
import type { Core } from './core.ts';

/** How many of the newest are ranked, whatever they said, and how many with each of the words. */
const CANDIDATES = 50;
const PER_WORD = 5;
/** What a schedule remembers of the time before it was told to. */
const SUMMED_UP = 200;
/** A reply has up to 500,000 characters: a few of them are read at a time. */
const READ_AT_ONCE = 5;

export async function priorRuns(
  core: Core,
  actor: Actor,
  jobNo: number,
  wanted: PriorRunsWanted,
): Promise<readonly PriorRun[]> {
  const { scheduleId, mode, limit, about } = wanted;
  const until = await toldUntil(core, jobNo);
  await sumUp(core, actor, scheduleId);
  const { summaries } = core.store.read;
  const count = mode === 'recent' ? limit : Math.max(CANDIDATES, limit);
  const newest = await summaries.recent(scheduleId, until, count);
  if (mode === 'recent') return newest;
  const words = wordsOf(about);
  const older = await summaries.withWords(scheduleId, until, words, PER_WORD);
  const found = byRelevance(distinct([...newest, ...older]), words);
  return (found.length > 0 ? found : newest).slice(0, limit);
}

/** Only what had ended before the lineage was first sent is told: later ends would give a replay another prompt. */
async function toldUntil(core: Core, jobNo: number): Promise<number> {
  const { read } = core.store;
  const [job] = await read.jobs.byNo([jobNo]);
  const root = job?.rootNo ?? null;
  const [first] = root === null || root === jobNo ? [] : await read.runs.byNo([root]);
  return first?.dispatchedAt ?? core.now();
}

/** Sums up what ended since somebody last asked, so that no run pays for it whose schedule does not want it. */
async function sumUp(core: Core, actor: Actor, scheduleId: string): Promise<void> {
  const { read } = core.store;
  const missing = await read.summaries.missing(scheduleId, SUMMED_UP);
  if (missing.length === 0) return;
  const summaries: RunSummary[] = [];
  for (let i = 0; i < missing.length; i += READ_AT_ONCE) {
    const some = missing.slice(i, i + READ_AT_ONCE);
    const outcomes = await read.details.outcomes(some.map(({ jobNo }) => jobNo));
    for (const { jobNo, finishedAt } of some) {
      const summary = tellingOf(outcomes.get(jobNo)?.result ?? null);
      summaries.push({ jobNo, scheduleId, finishedAt, summary });
    }
  }
  await core.flusher.transact(actor, (tx) => tx.summaries.save(summaries));
}

/** A reply that is an agreed word tells nothing to whoever comes after. */
function tellingOf(result: string | null): string {
  const { text } = rawOutput(result, null);
  return sentinelOf(text) === null ? summaryOf(text) : '';
}

/** Newest first, as both lists are. */
function distinct(runs: readonly PriorRun[]): PriorRun[] {
  return [...new Map(runs.map((run) => [run.jobNo, run])).values()];
}
