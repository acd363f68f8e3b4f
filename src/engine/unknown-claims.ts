/** Claims whose commit nobody knows the fate of, or that could not be given back: that happens as soon as the store can be asked. */

import type { Accepted, ClaimNextAnswer, Command, JobCommand } from '../domain/command.ts';
import { type ErrorCode, SpineError } from '../domain/error.ts';
import type { Job } from '../domain/job.ts';
import type { Answer } from './flush.ts';

/** More than one server commonly hands out within the time of an outage; the rest waits for its leases. */
const CAPACITY = 10_000;
const BATCH = 500;
const REASON = 'Nobody knew whether the claim was saved.';
const LATER: ReadonlySet<ErrorCode> = new Set([
  'store_unavailable',
  'outcome_unknown',
  'disk_full',
  'overloaded',
  'shutting_down',
]);

export class UnknownClaims {
  #releases: JobCommand[] = [];

  get size(): number {
    return this.#releases.length;
  }

  /** Remembers what these commands would have claimed. Whoever named the claim asks for it again, maybe already now. */
  remember(commands: readonly Command[], answers: readonly Answer[]): void {
    this.#keep(commands.flatMap((command, i) => releasesOf(command, answers[i])));
  }

  /** Keeps what could not be given back, if that failed for a reason that passes; whether it does. */
  keepFailed(releases: readonly JobCommand[], reason: unknown): boolean {
    const passes = isPassing(reason);
    if (passes) this.#keep(releases);
    return passes;
  }

  /** Gives some of them back. A refusal means that the claim was never saved, or that somebody has seen to it. */
  async giveBack(perform: (command: JobCommand) => Promise<unknown>): Promise<number> {
    const batch = this.#releases.splice(0, BATCH);
    const ends = await Promise.allSettled(batch.map(perform));
    const open = batch.filter((_, i) => isForLater(ends[i]));
    this.#releases.push(...open);
    return batch.length - open.length;
  }

  #keep(releases: readonly JobCommand[]): void {
    this.#releases = [...this.#releases, ...releases].slice(0, CAPACITY);
  }
}

function releasesOf(command: Command, answer: Answer | undefined): JobCommand[] {
  if (answer === undefined || ('ok' in answer && !answer.ok)) return [];
  const { actor } = command;
  const release = ({ id, leaseToken }: Job): JobCommand => ({
    kind: 'release',
    actor,
    id,
    leaseToken,
    reason: REASON,
    unanswered: true,
  });
  // An answer has the kind of its command.
  if (command.kind === 'claim')
    return command.offer.claimId === null ? [release((answer as Accepted).job)] : [];
  if (command.kind !== 'claimNext' || command.terms.claimId !== null) return [];
  return (answer as ClaimNextAnswer).jobs.map(({ job }) => release(job));
}

function isForLater(end: PromiseSettledResult<unknown> | undefined): boolean {
  return end?.status === 'rejected' && isPassing(end.reason);
}

function isPassing(reason: unknown): boolean {
  return reason instanceof SpineError && LATER.has(reason.code);
}
