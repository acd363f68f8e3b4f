import { setTimeout as sleep } from 'node:timers/promises';
import type { HttpClient, JobBody } from '../../test/support/http.ts';
import type { Ledger } from './ledger.ts';
import type { Random } from '../random.ts';

/**
 * In percent. Random faults alone miss a missing fence or limit: some jobs must outlive their lease, be dropped,
 * or never succeed, and each way to lose an attempt needs a job that runs out of them that way.
 */
const JOB_KINDS = {
  short: 58,
  slow: 8,
  paused: 9,
  fails_once: 5,
  released_once: 4,
  abandoned_once: 5,
  always_fails: 5,
  always_released: 3,
  always_abandoned: 3,
} as const;
export type JobKind = keyof typeof JOB_KINDS;

const HOPELESS_ATTEMPTS = 2;
const OTHER_ATTEMPTS = 6;
/** As if the answer had been lost on its way: the kills alone seldom hit between the commit and the answer. */
const RESENT_SHARE = 0.05;
const RETRY_AFTER_MS = 15;
const RETRY_AT_LEAST_EVERY_MS = 120;

/** Before the next try. Clients that hammer a server that is away would mostly measure themselves. */
export function retryDelayMs(tries: number): number {
  return Math.min(RETRY_AFTER_MS * 2 ** tries, RETRY_AT_LEAST_EVERY_MS);
}

export interface Load {
  readonly ledger: Ledger;
  readonly random: Random;
  readonly leaseMs: number;
  /** Keys acknowledged and jobs seen to end; producers wait when the distance grows. */
  readonly acknowledged: Set<string>;
  readonly ended: Set<string>;
  readonly backlog: number;
  /** How long a caller waits for an answer. */
  readonly patienceMs: number;
  /** Producers stop first, workers when everything has ended. */
  producing: boolean;
  working: boolean;
}

/** Enqueues jobs one after another, each under its own key and again until it is acknowledged. */
export async function produce(name: string, client: HttpClient, load: Load): Promise<void> {
  for (let number = 1; load.producing; number++) {
    await sleep(load.random.int(10));
    while (load.producing && load.acknowledged.size - load.ended.size > load.backlog) await sleep(20);
    await enqueue(`${name}-${number}`, name, client, load);
  }
}

async function enqueue(key: string, by: string, client: HttpClient, load: Load): Promise<void> {
  const kind = pickKind(load.random);
  const maxAttempts = kind.startsWith('always') ? HOPELESS_ATTEMPTS : OTHER_ATTEMPTS;
  const body = { target: 'any', maxAttempts, spec: { key, kind } };
  for (let tries = 0; ; tries++) {
    const answer = await load.ledger.record({ op: 'enqueue', by, key }, () =>
      client.post<JobBody>('/jobs', body, {
        headers: { 'idempotency-key': key },
        timeoutMs: load.patienceMs,
      }),
    );
    if (answer?.status === 200 || answer?.status === 201) {
      load.acknowledged.add(answer.body.id);
      if (!load.random.chance(RESENT_SHARE)) return;
    } else if (answer !== undefined) {
      load.ledger.surprises.push(
        `enqueue of ${key} was refused: ${answer.status} ${answer.text.slice(0, 200)}`,
      );
      return;
    }
    await sleep(retryDelayMs(tries));
  }
}

function pickKind(random: Random): JobKind {
  let left = random.int(100);
  for (const [kind, share] of Object.entries(JOB_KINDS) as [JobKind, number][]) {
    left -= share;
    if (left < 0) return kind;
  }
  return 'short';
}
