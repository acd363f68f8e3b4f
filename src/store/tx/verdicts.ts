/** What a model made of failures: asked for once, by one server at a time. */

import type { Decision } from '../../domain/verdict.ts';
import { locking, perDialect, type Sql } from '../sql/driver.ts';

/** Asks for a verdict, unless it is being asked for already, or has just come. */
export async function want(sql: Sql, fingerprint: string, body: string, now: number): Promise<void> {
  await sql.run(
    `insert into verdict (fingerprint, body, wanted_at, asked_until, asks, good_until) values ($1, $2, $3, null, 0, 0)
     on conflict (fingerprint) do update set body = excluded.body, asks = 0, asked_until = null,
       wanted_at = excluded.wanted_at where verdict.wanted_at is null and verdict.good_until <= $3`,
    [fingerprint, body, now],
  );
}

export interface WantedVerdict {
  readonly fingerprint: string;
  readonly body: string;
  readonly asks: number;
}

const free = perDialect(
  (dialect) =>
    `select fingerprint, body, asks from verdict
     where wanted_at is not null and coalesce(asked_until, 0) <= $1
     order by wanted_at, fingerprint limit $2 + 0${locking({ dialect }, 'for update skip locked')}`,
);

/** Takes those that nobody is asking for. If who asks dies, they come up again. */
export async function take(
  sql: Sql,
  now: number,
  limit: number,
  leaseMs: number,
): Promise<(WantedVerdict & { readonly until: number })[]> {
  const rows = (await sql.all(free(sql), [now, limit])).map(([fingerprint, body, asks]) => ({
    fingerprint: fingerprint as string,
    body: body as string,
    asks: (asks as number) + 1,
    until: now + leaseMs,
  }));
  for (const { fingerprint, asks, until } of rows)
    await sql.run('update verdict set asked_until = $2, asks = $3 where fingerprint = $1', [
      fingerprint,
      until,
      asks,
    ]);
  return rows;
}

/** Those that nobody had the time to ask for get none. */
export async function dropUnasked(
  sql: Sql,
  wantedBefore: number,
  words: string,
  now: number,
): Promise<number> {
  return sql.run(
    `update verdict set decision = 'none', words = $2, decided_at = $3, good_until = $3, wanted_at = null
     where wanted_at is not null and wanted_at <= $1 and asks = 0`,
    [wantedBefore, words, now],
  );
}

/** Only whoever still asks may say what came of it. */
export async function decide(
  sql: Sql,
  { fingerprint, until }: { readonly fingerprint: string; readonly until: number },
  { decision, words }: { readonly decision: Decision; readonly words: string | null },
  now: number,
  goodUntil: number,
): Promise<boolean> {
  const changed = await sql.run(
    `update verdict set decision = $3, words = $4, decided_at = $5, good_until = $6, wanted_at = null, asked_until = null
     where fingerprint = $1 and asked_until = $2`,
    [fingerprint, until, decision, words, now, goodUntil],
  );
  return changed > 0;
}

/** Whoever asks stops, and has no answer: the next one may ask at once. */
export async function giveUp(
  sql: Sql,
  { fingerprint, until }: { readonly fingerprint: string; readonly until: number },
): Promise<void> {
  await sql.run(
    'update verdict set asked_until = null, asks = asks - 1 where fingerprint = $1 and asked_until = $2',
    [fingerprint, until],
  );
}

/** Those that are good no more. */
export function dropOld(sql: Sql, before: number, limit: number) {
  return sql.run(
    `delete from verdict where fingerprint in (
       select fingerprint from verdict where wanted_at is null and good_until < $1 order by good_until limit $2 + 0)`,
    [before, limit],
  );
}
