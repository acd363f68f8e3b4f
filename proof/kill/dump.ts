import { setTimeout as sleep } from 'node:timers/promises';
import type { HttpClient, JobBody } from '../../test/support/http.ts';
import type { FinalEvent, FinalJob } from '../checker/history.ts';

const PAGE = 500;
const EVENTS_AT_ONCE = 16;

/** Reads every job with its events, as any client could. */
export async function dumpJobs(head: HttpClient): Promise<FinalJob[]> {
  const finals: FinalJob[] = [];
  for await (const page of pages(head)) {
    for (let start = 0; start < page.length; start += EVENTS_AT_ONCE) {
      const few = page.slice(start, start + EVENTS_AT_ONCE);
      finals.push(...(await Promise.all(few.map(async (job) => toFinal(job, await events(head, job.id))))));
    }
  }
  return finals;
}

async function* pages(head: HttpClient): AsyncGenerator<readonly JobBody[]> {
  let cursor: string | null | undefined;
  do {
    const query = cursor ? `&cursor=${encodeURIComponent(cursor)}` : '';
    const answer = await head.get<{ jobs: readonly JobBody[]; nextCursor?: string | null }>(
      `/jobs?limit=${PAGE}${query}`,
    );
    if (answer.status !== 200)
      throw new Error(`GET /jobs answered ${answer.status} ${answer.text.slice(0, 200)}`);
    yield answer.body.jobs;
    cursor = answer.body.nextCursor;
  } while (cursor);
}

interface EventBody {
  readonly seq: number;
  readonly t: string;
  readonly type: string;
  readonly reason?: string | null;
}

/** What the server says of claims that it has given back itself: they are no attempts. */
const GIVEN_BACK: readonly unknown[] = [
  'The claimer could not be answered.',
  'Nobody knew whether the claim was saved.',
];

/** Just after a fault a server may still say that it cannot answer now. */
const TRIES = 10;
const TRY_AGAIN_MS = 500;

async function events(head: HttpClient, id: string, tries = TRIES): Promise<FinalEvent[]> {
  const answer = await head.get<{ events: readonly EventBody[] }>(`/jobs/${id}/events`);
  if (answer.status === 503 && tries > 1) {
    await sleep(TRY_AGAIN_MS);
    return events(head, id, tries - 1);
  }
  if (answer.status !== 200) throw new Error(`GET /jobs/${id}/events answered ${answer.status}`);
  return answer.body.events.map((event) => ({
    seq: event.seq,
    timeMs: new Date(event.t).getTime(),
    kind: GIVEN_BACK.includes(event.reason) ? 'unanswered' : event.type.replace(/^job\./, ''),
  }));
}

function toFinal(job: JobBody, own: readonly FinalEvent[]): FinalJob {
  const mark = (job.result as { mark?: string } | null)?.mark;
  return {
    id: job.id,
    key: String(job.spec['key']),
    state: job.state,
    attempts: job.attempts,
    maxAttempts: job.maxAttempts,
    ...(mark === undefined ? {} : { mark }),
    events: own,
  };
}
