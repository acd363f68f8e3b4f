/** The records of blobs; their bytes lie elsewhere. */

import type { Blob } from '../domain/blob.ts';
import type { Actor } from '../domain/command.ts';
import { refuse, SpineError } from '../domain/error.ts';
import { holds, mayTouch } from '../domain/lease.ts';
import { accepted, type Core } from './core.ts';
import type { BlobRecords } from './engine.ts';

export function blobsOf(core: Core): BlobRecords {
  return {
    save: async (actor, blob) => {
      const saved = { ...blob, jobNo: null, createdAt: core.now(), createdBy: actor.name };
      await core.flusher.transact(actor, async (tx) => tx.blobs.add(saved));
      return saved;
    },
    get: async (actor, id) => {
      const blob = await core.store.read.blobs.byId(id);
      if (blob === null) throw new SpineError('not_found', { blob: id });
      await refuseForeign(core, actor, blob);
      return blob;
    },
    attach: async (actor, jobId, leaseToken, blob) => {
      const answer = await core.flusher.transact(actor, async (tx, changeSet) => {
        const [job] = await tx.jobs.lock([jobId]);
        if (job === undefined) return refuse('not_found', { id: jobId });
        if (!mayTouch(actor, job)) return refuse('forbidden', { target: job.target });
        const hold = holds(job, actor, leaseToken);
        if (!hold.held && actor.role !== 'head') return hold.refusal;
        const saved = { ...blob, jobNo: job.no, createdAt: changeSet.now, createdBy: actor.name };
        await tx.blobs.add(saved);
        return { ok: true as const, saved };
      });
      return accepted(answer).saved;
    },
    ofJob: async (actor, jobId, afterId, limit) => {
      const job = await core.store.read.jobs.byId(jobId);
      if (job === null) throw new SpineError('not_found', { id: jobId });
      if (!mayTouch(actor, job)) throw new SpineError('forbidden', { target: job.target });
      return core.store.read.blobs.ofJob(job.no, afterId, limit);
    },
  };
}

/** An artifact is for those who may see its job; a run may see no other file at all. */
async function refuseForeign({ store }: Core, actor: Actor, { id, jobNo }: Blob): Promise<void> {
  if (jobNo === null && actor.role === 'run') throw new SpineError('forbidden');
  if (jobNo === null || actor.targets === null) return;
  const [job] = await store.read.jobs.byNo([jobNo]);
  if (job === undefined) throw new SpineError('not_found', { blob: id });
  if (!mayTouch(actor, job)) throw new SpineError('forbidden', { target: job.target });
}
