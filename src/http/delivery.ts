/** Claims are answered or undone: what nobody hears of must not wait for the end of its lease, nor count as an attempt. */

import type { ClaimedJob } from '../domain/command.ts';
import { LIMITS } from '../domain/limits.ts';
import { noteJobs } from './requests.ts';
import type { Call } from './routes.ts';

type Taken = Pick<ClaimedJob, 'job'> & Partial<ClaimedJob>;

/**
 * Prints an answer with claimed jobs. They are given back when it cannot be printed, or when the claimer went away
 * before all of it was sent; whoever named the claim can ask for it again, and then keeps them.
 */
export async function delivered<T extends Taken>(
  call: Call,
  claimed: readonly T[],
  claimId: string | undefined,
  print: (claimed: readonly T[]) => Promise<string>,
): Promise<string> {
  if (claimed.length === 0) return print(claimed);
  noteJobs(call.request, claimed);
  const raw = call.reply.raw;
  const undo = (): Promise<void> => giveBack(call, claimed, claimId !== undefined);
  const bytes = claimed.reduce((sum, one) => sum + (one.bytes ?? 0), 0);
  try {
    if (bytes > LIMITS.smallBytes) await call.parts.room.take(call, bytes, true);
    const isGone = (): boolean => raw.destroyed || call.gone?.aborted === true;
    const text = isGone() ? '' : await print(claimed);
    if (claimId === undefined && isGone()) await undo();
    // A request that failed after all is answered too, but not with the jobs.
    else if (claimId === undefined)
      raw.once('close', () => (raw.writableFinished && raw.statusCode < 400 ? null : void undo()));
    return text;
  } catch (error) {
    await undo();
    throw error;
  }
}

/** What fails only for now is done later; when it fails for good, the leases end by themselves. */
async function giveBack({ engine, actor }: Call, claimed: readonly Taken[], isNamed: boolean): Promise<void> {
  await engine.leases.giveBack(actor, claimed, isNamed).catch(() => undefined);
}
