import { setTimeout as sleep } from 'node:timers/promises';
import type { Answer, HttpClient, JobBody } from '../../test/support/http.ts';
import type { Operation } from '../checker/history.ts';
import { type JobKind, type Load, retryDelayMs } from './load.ts';

const CLAIM_AT_ONCE = 4;
const HELD_AT_ONCE = 12;
const CLAIM_WAIT_MS = 200;
const REPLAYED_SHARE = 0.1;
/** A paused worker comes back this many leases late. */
const PAUSE_LEASES = 2.5;

interface Held {
  readonly by: string;
  readonly client: HttpClient;
  readonly load: Load;
  readonly id: string;
  readonly token: string;
  readonly attempt: number;
}

/** Claims a few jobs at a time and does them side by side; the long ones do not keep it from claiming more. */
export async function work(by: string, client: HttpClient, load: Load): Promise<void> {
  const underWay = new Set<Promise<void>>();
  for (let number = 1; load.working; number++) {
    for (const job of await claim(by, `${by}-claim-${number}`, client, load)) {
      const doing = doJob(by, client, load, job).finally(() => underWay.delete(doing));
      underWay.add(doing);
    }
    if (underWay.size >= HELD_AT_ONCE) await Promise.race(underWay);
  }
  await Promise.all(underWay);
}

/** Repeats one claim, under its claimId, until it is answered: the jobs of a lost answer are still ours. */
async function claim(
  by: string,
  claimId: string,
  client: HttpClient,
  load: Load,
): Promise<readonly JobBody[]> {
  for (let tries = 0; load.working; tries++) {
    const invokedMs = performance.now();
    const answer = await load.ledger.record({ op: 'claim', by }, () =>
      client.post<{ jobs: readonly JobBody[] }>(
        '/jobs/claim',
        { max: CLAIM_AT_ONCE, waitMs: CLAIM_WAIT_MS, leaseMs: load.leaseMs, claimId },
        { timeoutMs: load.patienceMs },
      ),
    );
    if (answer !== undefined) {
      if (answer.status !== 200) {
        load.ledger.surprises.push(`claim by ${by} answered ${answer.status} ${answer.text.slice(0, 200)}`);
        await sleep(retryDelayMs(tries));
        return [];
      }
      for (const job of answer.body.jobs) {
        const { id: jobId, leaseToken: token = '', attempt = 0 } = job;
        load.ledger.claimed({ by, invokedMs, jobId, token, attempt });
      }
      return answer.body.jobs;
    }
    await sleep(retryDelayMs(tries));
  }
  return [];
}

async function doJob(by: string, client: HttpClient, load: Load, job: JobBody): Promise<void> {
  const held: Held = { by, client, load, id: job.id, token: job.leaseToken ?? '', attempt: job.attempt ?? 0 };
  const first = job.attempt === 1;
  // The kind was put there by our own producers.
  const kind = job.spec['kind'] as JobKind;
  switch (kind) {
    case 'short':
      await sleep(load.random.int(10));
      return complete(held);
    case 'slow':
      return workSlowly(held, 4);
    case 'paused':
      // Whoever has it next works slowly, so that the first one comes back while it runs.
      return first ? comeBackLate(held) : workSlowly(held, 6);
    case 'fails_once':
    case 'always_fails':
      return first || kind === 'always_fails' ? finish(held, 'fail', { error: kind }) : complete(held);
    case 'released_once':
    case 'always_released':
      return first || kind === 'always_released' ? finish(held, 'release', { reason: kind }) : complete(held);
    case 'abandoned_once':
      return first ? undefined : complete(held);
    case 'always_abandoned':
      return undefined;
  }
}

async function workSlowly(held: Held, beats: number): Promise<void> {
  for (let beat = 0; beat < beats; beat++) {
    await sleep(held.load.leaseMs * 0.375);
    if ((await call(held, 'heartbeat', {}))?.status === 409) return;
  }
  await complete(held);
}

async function comeBackLate(held: Held): Promise<void> {
  await sleep(held.load.leaseMs * PAUSE_LEASES);
  await call(held, 'heartbeat', {});
  await complete(held);
}

async function complete(held: Held): Promise<void> {
  const mark = `${held.by}/${held.id}/${held.attempt}`;
  await finish(held, 'complete', { result: { mark } }, mark);
  if (held.load.random.chance(REPLAYED_SHARE)) await call(held, 'complete', { result: { mark } }, mark);
}

/** Repeats an ending call until it is answered, for its answer may have been lost with the server. */
async function finish(held: Held, op: Operation, body: object, mark?: string): Promise<void> {
  for (let tries = 0; held.load.working; tries++) {
    const answer = await call(held, op, body, mark);
    if (answer !== undefined) return;
    await sleep(retryDelayMs(tries));
  }
}

async function call(
  held: Held,
  op: Operation,
  body: object,
  mark?: string,
): Promise<Answer<JobBody> | undefined> {
  const { by, client, load, id: jobId, token, attempt } = held;
  const intent = { op, by, jobId, token, attempt, ...(mark === undefined ? {} : { mark }) };
  const answer = await load.ledger.record(intent, () =>
    client.post<JobBody>(
      `/jobs/${jobId}/${op}`,
      { ...body, leaseToken: token },
      { timeoutMs: load.patienceMs },
    ),
  );
  if (answer === undefined) return undefined;
  if (answer.status !== 200 && answer.status !== 409) {
    load.ledger.surprises.push(`${op} of ${jobId} answered ${answer.status} ${answer.text.slice(0, 200)}`);
  }
  if (['done', 'failed', 'dead'].includes(answer.body.state)) load.ended.add(jobId);
  return answer;
}
