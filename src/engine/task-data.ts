/** The records of what bots collect; the bytes lie elsewhere, and are written before their record. */

import type { Actor } from '../domain/command.ts';
import { SpineError } from '../domain/error.ts';
import { mayTouch, wasLostBy } from '../domain/lease.ts';
import { LIMITS } from '../domain/limits.ts';
import type { Job } from '../domain/job.ts';
import { batchKey } from '../domain/task-data.ts';
import type { Tx } from '../store/store.ts';
import type { Core } from './core.ts';
import type { TaskData } from './engine.ts';

export function taskDataOf(core: Core): TaskData {
  const { read } = core.store;
  return {
    checkRunning: (actor, job) => {
      if (job.state !== 'running') throw notRunning(actor, job, 'data');
    },
    newKey: (prefix, { id }, dataType) => {
      const now = core.now();
      return batchKey(prefix, id, dataType, now, core.ids.jobId(now).slice(-8));
    },
    known: async ({ no }, dataType, externalIds) =>
      new Set(externalIds.length === 0 ? [] : await read.taskData.known(no, dataType, externalIds)),
    announce: async (actor, { id }, batch) =>
      core.flusher.transact(actor, async (tx, { now }) => {
        await roomyJob(tx, actor, id, batch.size);
        await tx.taskData.announceBatch({ ...batch, jobNo: null, uploadedAt: now, uploadedBy: actor.name });
      }),
    record: async (actor, { id }, { key, dataType, size }, { externalIds, tickers }) =>
      core.flusher.transact(actor, async (tx, { now }) => {
        const { no } = await roomyJob(tx, actor, id, size);
        if (externalIds.length > 0) {
          if ((await tx.taskData.known(no, dataType, externalIds)).length > 0) return false;
          await tx.taskData.addItems(no, dataType, externalIds);
        }
        if (tickers.length > 0) await tx.taskData.addTickers(no, key, tickers);
        // It took so long that its bytes may be gone.
        if (!(await tx.taskData.recordBatch(key, no, now))) throw new SpineError('storage_unavailable');
        return true;
      }),
    takeBack: async (actor, key) => core.flusher.transact(actor, async (tx) => tx.taskData.drop([key])),
    total: async ({ no }, dataType = null, ticker = null) => read.taskData.total(no, dataType, ticker),
    list: async ({ no }, filter) => read.taskData.list(no, filter),
    batch: async ({ no }, key) => read.taskData.batch(no, key),
    register: async (actor, { id }, draft) =>
      core.flusher.transact(actor, async (tx, { now }) => {
        const { no } = await heldJob(tx, actor, id, 'files');
        if ((await tx.taskData.fileTotal(no)) >= LIMITS.filesPerTask)
          throw tooMany('files', LIMITS.filesPerTask);
        const file = { ...draft, id: core.ids.jobId(now), jobNo: no, uploadedBy: actor.name, createdAt: now };
        await tx.taskData.addFile(file);
        return file;
      }),
    files: async ({ no }, limit, offset) => ({
      files: await read.taskData.files(no, limit, offset),
      total: await read.taskData.fileTotal(no),
    }),
    file: async ({ no }, id) => read.taskData.file(no, id),
  };
}

async function roomyJob(tx: Tx, actor: Actor, id: string, more: number): Promise<Job> {
  const job = await heldJob(tx, actor, id, 'data');
  const { batches, bytes } = await tx.taskData.sums(job.no);
  if (batches >= LIMITS.batchesPerTask) throw tooMany('batches of data', LIMITS.batchesPerTask);
  if (bytes + more > LIMITS.dataBytesPerTask) throw tooMany('bytes of data', LIMITS.dataBytesPerTask);
  return job;
}

/** What came while it was looked at may have taken the job away. */
async function heldJob(tx: Tx, actor: Actor, id: string, what: 'data' | 'files'): Promise<Job> {
  const [job] = await tx.jobs.lock([id]);
  if (job === undefined || !mayTouch(actor, job) || job.claimedBy !== actor.name)
    throw new SpineError('not_found', { id });
  if (job.state !== 'running') throw notRunning(actor, job, what);
  return job;
}

function notRunning(actor: Actor, job: Job, what: 'data' | 'files'): SpineError {
  if (wasLostBy(job, actor)) {
    const problem = `This task was failed while nothing was heard of its worker: its ${what} came too late and were not kept.`;
    return new SpineError('conflict', { problem });
  }
  const verb = what === 'data' ? 'post data to' : 'register files for';
  return new SpineError('bad_request', {
    problem: `Can only ${verb} tasks with status 'in_progress'`,
  });
}

function tooMany(what: string, limit: number): SpineError {
  return new SpineError('conflict', { problem: `A task takes at most ${limit} ${what}.`, limit });
}
