/** Leases that a loop has to look after. */

import type { AdoptableRun } from '../../domain/run.ts';
import type { Sql } from '../sql/driver.ts';
import { column, only } from '../sql/rows.ts';

/** The ids of jobs whose holder was not heard from in time. */
export function expired(sql: Sql, now: number, limit: number): Promise<string[]> {
  const text =
    "select id from job where state = 'running' and lease_policy <> 'presence' and lease_until <= $1 order by lease_until limit $2 + 0";
  return column<string>(sql, text, [now, limit]);
}

/** How long the longest of the leases is that have run out; 0 when none has. */
export function longestLapsedMs(sql: Sql, now: number): Promise<number> {
  const text = `select coalesce(max(coalesce(lease_span_ms, lease_ms)), 0) from job
    where state = 'running' and lease_policy <> 'presence' and lease_until <= $1`;
  return only<number>(sql, text, [now]);
}

/** The ids of jobs whose attempt took too long. */
export function timedOut(sql: Sql, now: number, limit: number): Promise<string[]> {
  const text =
    "select id from job where state = 'running' and timeout_at is not null and timeout_at <= $1 order by timeout_at limit $2 + 0";
  return column<string>(sql, text, [now, limit]);
}

/** Running jobs that would go on elsewhere without their holder. */
export async function adoptable(sql: Sql): Promise<AdoptableRun[]> {
  const text = `
    select id, lease_token, claim_id, target from job
    where state = 'running' and lease_policy = 'adopt' order by no`;
  return (await sql.all(text, [])).map(([id, leaseToken, claimId, target]) => ({
    id: id as string,
    leaseToken: leaseToken as string,
    claimId: claimId as string | null,
    target: target as string,
  }));
}

/** A lease whose holder is gone, and what people call that. */
export interface AbandonedLease {
  readonly id: string;
  readonly leaseToken: string;
  readonly worker: string;
}

/**
 * Leases under `presence` that have ended by themselves, and whose holder was not heard from since then. Somebody who is no
 * worker any more, or was never heard, has been silent for ever. The index job_presence serves it.
 */
export async function abandoned(
  sql: Sql,
  now: number,
  silentSince: number,
  limit: number,
): Promise<AbandonedLease[]> {
  const text = `
    select job.id, job.lease_token, coalesce(holder.full_name, job.claimed_by)
    from job left join user_account holder on holder.name = job.claimed_by
      left join agent on agent.id = job.claimed_by and holder.name is null
    where job.state = 'running' and job.lease_policy = 'presence' and job.lease_until < $1
      and case when holder.name is null then coalesce(agent.last_seen_at, 0)
        when holder.active = 1 and holder.worker = 1 then coalesce(holder.last_activity_at, 0) else 0 end < $2
    order by job.lease_until limit $3 + 0`;
  return (await sql.all(text, [now, silentSince, limit])).map(([id, leaseToken, worker]) => ({
    id: id as string,
    leaseToken: leaseToken as string,
    worker: worker as string,
  }));
}
