/** Tells the server that what stood in a prompt has arrived. */

import type { ClaimedJob } from '../client/types.ts';
import type { RunNotes, WorkerLog } from './ports.ts';

interface MailHost {
  readonly notes: Pick<RunNotes, 'mailArrived'>;
  readonly log: WorkerLog;
}

/** Trouble here is no failure of the work that was done: the messages are handed out again, rather twice than never. */
export async function mailArrived({ notes, log }: MailHost, job: ClaimedJob): Promise<void> {
  await notes
    .mailArrived(job)
    .catch((error: unknown) => log.warn('Messages may come a second time', { job: job.id, error }));
}
