/** Whether a folder that a cut left holds every promise that was made before it. */

import { createHash } from 'node:crypto';
import path from 'node:path';
import type { FeedPlace } from '../../src/domain/event.ts';
import { readJournal } from '../../src/files/journal-read.ts';
import { isAfter, START } from '../../src/files/feed-mark.ts';
import { rebuild } from '../../src/import/rebuild.ts';
import { openSqlite } from '../../src/store/sqlite.ts';
import { openSqliteReader } from '../../src/store/sqlite-reader.ts';
import type { JobBody } from '../../test/support/http.ts';
import { startServer, type TestServer } from '../../test/support/server.ts';
import type { Promised } from './load.ts';

const AT_ONCE = 16;
const ALL = 1_000_000;

/** Starts a server of these sources on the folder, and answers what is missing or wrong. */
export async function check(dir: string, promised: readonly Promised[], entry?: string): Promise<string[]> {
  const before = await placesIn(path.join(dir, 'journal'));
  const wrong: string[] = [];
  try {
    await using server = await startServer({ dataDir: dir, logLevel: 'error', ...(entry && { entry }) });
    wrong.push(...(await lost(server, promised)));
  } catch (error) {
    // The first words say why; the rest is what the server wrote.
    return [`the server did not start: ${String(error).slice(0, 300)}`];
  }
  wrong.push(...(await journalLacks(dir, before, promised)));
  wrong.push(...(await rebuildLacks(dir)));
  return wrong;
}

async function lost(server: TestServer, promised: readonly Promised[]): Promise<string[]> {
  const wrong: string[] = [];
  // The last word about a job counts.
  const jobs = new Map(promised.flatMap(({ job }) => (job ? [[job.id, job]] : [])));
  const blobs = promised.flatMap(({ blob }) => (blob ? [blob] : []));
  await inBatches([...jobs.values()], async ({ id, text, result }) => {
    const { status, body } = await server.head.get<JobBody>(`/jobs/${id}`);
    if (status !== 200 || body.spec['text'] !== text) wrong.push(`job ${id} is lost (${status})`);
    else if (result !== undefined && body.result !== result) wrong.push(`the result of job ${id} is lost`);
  });
  await inBatches(blobs, async ({ id, sha256 }) => {
    const { status, text } = await server.head.get(`/blobs/${id}`);
    const found = createHash('sha256').update(text).digest('hex');
    if (status !== 200 || found !== sha256) wrong.push(`artifact ${id} is lost (${status})`);
  });
  return wrong;
}

/** What the journal was said to hold must have been in it at the cut. */
async function journalLacks(
  dir: string,
  before: ReadonlySet<string>,
  promised: readonly Promised[],
): Promise<string[]> {
  const watermark = promised.findLast(({ journal }) => journal !== undefined)?.journal;
  if (watermark === undefined) return [];
  const reader = openSqliteReader(path.join(dir, 'spine.db'));
  try {
    const events = await reader.read.feed.entries(START, ALL);
    const missing = events.filter((event) => !isAfter(event, watermark) && !before.has(keyOf(event)));
    return missing.length === 0 ? [] : [`${missing.length} events that the journal was said to hold`];
  } finally {
    await reader.close();
  }
}

/** After a stop in good order a rebuild brings everything back, whatever the cut did to the journal. */
async function rebuildLacks(dir: string): Promise<string[]> {
  const reader = openSqliteReader(path.join(dir, 'spine.db'));
  const jobs = (await reader.read.counters.all()).reduce((sum, { n }) => sum + n, 0);
  await reader.close();
  const store = openSqlite({ file: ':memory:', identity: 'rebuilt' });
  try {
    const journal = readJournal(path.join(dir, 'journal'));
    const defaults = { leaseMs: 60_000, maxAttempts: 5 };
    const report = await rebuild({ journal, store, dir, now: Date.now(), defaults });
    const damage = report.unreadable.map((where) => `the journal is damaged at ${where}`);
    if (report.jobs === jobs) return damage;
    return [...damage, `a rebuild gives ${report.jobs} of ${jobs} jobs`];
  } finally {
    await store.close();
  }
}

async function placesIn(journal: string): Promise<ReadonlySet<string>> {
  const places = new Set<string>();
  for await (const { line } of readJournal(journal)) if (line && 'pos' in line) places.add(keyOf(line));
  return places;
}

function keyOf({ pos, ordinal }: FeedPlace): string {
  return `${pos}.${ordinal}`;
}

async function inBatches<T>(items: readonly T[], look: (item: T) => Promise<void>): Promise<void> {
  for (let i = 0; i < items.length; i += AT_ONCE) await Promise.all(items.slice(i, i + AT_ONCE).map(look));
}
