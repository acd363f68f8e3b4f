/** Reacts to jobs that ended: the lineage goes on with a retry, or those who waited for the end move. */

import { admit, dependencyMet } from '../domain/admit.ts';
import { type Job, rootOf, SETTLED, UNSETTLED, UNTOUCHED } from '../domain/job.ts';
import { finish } from '../domain/retry.ts';
import type { Tx } from '../store/store.ts';
import type { Core } from './core.ts';
import type { Ledger } from './ledger.ts';

/** Settles one job in one transaction. Two servers may try: the second finds it settled. */
export async function settle(core: Core, no: number): Promise<void> {
  await core.flusher.transact(async (tx, ledger) => {
    const [found] = await tx.lockJobsByNo([no]);
    if (found === undefined || found.settled !== UNSETTLED) return;
    const job = ledger.load(found);
    ledger.amend(
      { ...job, settled: SETTLED },
      job.retryAt === null ? [] : [{ kind: 'job.retried', by: 'system', facts: { runAt: job.retryAt } }],
    );
    if (job.retryAt === null) await release(tx, ledger, job);
    else await goOn(core, tx, ledger, job);
  });
}

/** The next member of the lineage. UNIQUE (retry_of) makes a second one impossible. */
async function goOn(core: Core, tx: Tx, ledger: Ledger, failed: Job): Promise<void> {
  const runAt = failed.retryAt ?? ledger.now;
  const { no: _, ...rest } = failed;
  const next: Omit<Job, 'no'> = {
    ...rest,
    ...UNTOUCHED,
    id: core.ids.jobId(ledger.now),
    createdAt: ledger.now,
    updatedAt: ledger.now,
    uniqueKey: await keyOf(tx, failed),
    retryCount: failed.retryCount + 1,
    retryOf: failed.no,
    rootNo: rootOf(failed),
    state: admit({ waitingFor: 0, runAt }, ledger.now),
    runAt,
    seq: 1,
  };
  const input = await tx.inputOf(failed.no);
  await ledger.insert(tx, [{ job: next, input }], () => ({
    kind: 'job.created',
    by: 'system',
    facts: { target: next.target, retryOf: failed.id, retryCount: next.retryCount },
  }));
}

/** The key goes on with the lineage, unless another job took it while nobody had it. */
async function keyOf(tx: Tx, { typeNo, uniqueKey }: Job): Promise<string | null> {
  return uniqueKey !== null && (await tx.findUnique(typeNo, uniqueKey)) === null ? uniqueKey : null;
}

/** Dependents whose last dependency this was are admitted; those who hoped for another end are skipped. */
async function release(tx: Tx, ledger: Ledger, ended: Job): Promise<void> {
  const root = rootOf(ended);
  const dependents = await tx.dependentsOf(root);
  if (dependents.length === 0) return;
  const wanted = new Map(dependents.map(({ jobNo, on }) => [jobNo, on]));
  for (const found of await tx.lockJobsByNo([...wanted.keys()])) {
    const job = ledger.load(found);
    const next: Job = { ...job, waitingFor: Math.max(0, job.waitingFor - 1), updatedAt: ledger.now };
    if (job.state !== 'blocked') {
      // It ended meanwhile; if somebody reopens it, this dependency is no longer waited for.
      ledger.amend({ ...next, updatedAt: job.updatedAt });
      continue;
    }
    if (!dependencyMet(wanted.get(job.no) ?? 'complete', ended.state)) {
      next.reason = 'a dependency ended otherwise';
      finish(next, 'skipped', ledger.now);
      ledger.amend(next, [
        { kind: 'job.skipped', by: 'system', facts: { dependency: ended.id, ended: ended.state } },
      ]);
      continue;
    }
    next.state = admit(next, ledger.now);
    ledger.amend(
      next,
      next.state === 'blocked'
        ? []
        : [{ kind: 'job.queued', by: 'system', facts: { dependency: ended.id, state: next.state } }],
    );
  }
  await tx.settleDependencies(root);
}
