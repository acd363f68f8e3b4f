/** POST /jobs/complete-batch: many ends in one call, decided in one commit, each for itself. */

import type { Static } from 'typebox';
import type { Accepted } from '../../domain/command.ts';
import { ERRORS, SpineError } from '../../domain/error.ts';
import type { JobDetails } from '../../domain/job.ts';
import { asSpineError, errorAnswer } from '../errors.ts';
import type { Call } from '../routes.ts';
import type { CompleteBatchBody } from '../schemas.ts';
import { fullId } from './spine-jobs.ts';
import { jobJson, outcomeOf } from './spine-view.ts';

type Item = Static<typeof CompleteBatchBody>['jobs'][number];
type Outcome = Accepted | SpineError;

export async function completeBatch(call: Call<Static<typeof CompleteBatchBody>>): Promise<string> {
  const { engine, actor, body } = call;
  const ids = await Promise.all(body.jobs.map(({ id }) => settled(fullId(engine, actor, id))));
  // Sent in one turn of the event loop, so that they share a commit.
  const outcomes = await Promise.all(
    body.jobs.map(({ leaseToken = null, result }, index): Promise<Outcome> => {
      const id = ids[index];
      if (typeof id !== 'string') return Promise.resolve(id ?? new SpineError('not_found'));
      return settled(engine.leases.complete(actor, id, leaseToken, result));
    }),
  );
  refuseIfNothingGoes(outcomes);
  const accepted = outcomes.filter((outcome): outcome is Accepted => !(outcome instanceof SpineError));
  const details = await engine.jobs.details(accepted.map(({ job }) => job));
  const results = body.jobs.map((item, index) =>
    resultOf(item, outcomes[index] as Outcome, details, call.request.id),
  );
  return `{"results":[${results.join(',')}]}`;
}

/** A refusal is an outcome of its item; it must not end the others. */
function settled<T>(work: Promise<T>): Promise<T | SpineError> {
  return work.catch(asSpineError);
}

/** A server that is full or stopping says so for the whole call, with its Retry-After. */
function refuseIfNothingGoes(outcomes: readonly Outcome[]): void {
  const [first] = outcomes;
  const isBusy = (outcome: Outcome): boolean =>
    outcome instanceof SpineError && [429, 503, 507].includes(ERRORS[outcome.code].status);
  if (first instanceof SpineError && outcomes.every(isBusy)) throw first;
}

function resultOf(
  { id }: Item,
  outcome: Outcome,
  details: ReadonlyMap<number, JobDetails>,
  requestId: string,
): string {
  const known = outcome instanceof SpineError ? undefined : details.get(outcome.job.no);
  if (outcome instanceof SpineError || known === undefined) {
    const refusal = outcome instanceof SpineError ? outcome : new SpineError('not_found');
    return JSON.stringify({ ...errorAnswer(refusal, requestId).body, id, ok: false });
  }
  return `{"id":${JSON.stringify(id)},"ok":true,"job":${jobJson(outcome.job, known, outcomeOf(outcome))}}`;
}
