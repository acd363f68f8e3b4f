/** POST /jobs/complete-batch: many ends in one call, decided in one commit, each for itself. */

import type { Static } from 'typebox';
import type { Accepted } from '../../../domain/command.ts';
import { type Refusal, SpineError } from '../../../domain/error.ts';
import type { JobDetails } from '../../../domain/job.ts';
import { LIMITS } from '../../../domain/limits.ts';
import { SPINE_STATUS_OF } from '../../../domain/statuses.ts';
import type { Completion } from '../../../engine/engine.ts';
import { nativeErrors, toldOf } from '../../errors.ts';
import { fullIds } from '../../job-id.ts';
import { noteJobs } from '../../requests.ts';
import type { Call } from '../../routes.ts';
import type { CompleteBatchBody } from './schemas.ts';
import { claimedJson, wanted } from './claims.ts';
import { delivered } from '../../delivery.ts';
import { wantsLittle } from './jobs.ts';
import { briefJson, jobJson, outcomeOf } from './view.ts';

type Body = Static<typeof CompleteBatchBody>;
type Outcome = Accepted | SpineError;

export async function completeBatch(call: Call<Body>): Promise<string> {
  const { engine, actor, body } = call;
  noteJobs(call.request, body.jobs);
  // What cannot be the name of any job is refused by itself, not with all others.
  const ids = await fullIds(
    call,
    body.jobs.map(({ id }) => id),
  );
  const ends: Completion[] = [];
  body.jobs.forEach(({ leaseToken = null, result }, index) => {
    const id = ids[index];
    if (typeof id === 'string') ends.push({ id, leaseToken, result });
  });
  const next = body.next === undefined ? null : wanted(actor, body.next);
  const done = await engine.leases.completeMany(actor, ends, next);
  let ended = 0;
  const outcomes = ids.map((id) => (typeof id === 'string' ? outcomeFrom(done.ended[ended++]) : id));
  return delivered(call, done.next, body.next?.claimId, async (claimed) => {
    const show = wantsLittle(call) ? briefJson : await fullView(call, outcomes);
    const results = outcomes.map((outcome, index) =>
      resultJson(body.jobs[index]?.id ?? '', outcome, show, call.request.id),
    );
    if (next === null) return `{"results":[${results.join(',')}]}`;
    return `{"results":[${results.join(',')}],"next":[${(await claimedJson(engine, claimed)).join(',')}]}`;
  });
}

function outcomeFrom(answer: Accepted | Refusal | undefined): Outcome {
  if (answer?.ok) return answer;
  return answer === undefined ? new SpineError('internal') : new SpineError(answer.code, answer.details);
}

type Show = (accepted: Accepted) => string | null;

/** Shows as many jobs in full as one answer may hold, and of the rest which they are and what became of them. */
async function fullView(call: Call<Body>, outcomes: readonly Outcome[]): Promise<Show> {
  const { jobs } = call.engine;
  const ended = outcomes.flatMap((outcome) => (outcome instanceof SpineError ? [] : [outcome.job]));
  const sizes = await jobs.sizes(ended);
  let bytes = 0;
  const shown = ended.filter(({ no }) => (bytes += sizes.get(no) ?? 0) <= LIMITS.answerBytes);
  await call.parts.room.take(call, Math.min(bytes, LIMITS.answerBytes), true);
  const inFull = new Set(shown.map(({ no }) => no));
  const details: ReadonlyMap<number, JobDetails> = await jobs.details(shown);
  return (outcome) => {
    if (!inFull.has(outcome.job.no)) return briefJson(outcome);
    const known = details.get(outcome.job.no);
    // Retention may remove a finished job between two reads.
    return known === undefined ? null : jobJson(outcome.job, known, outcomeOf(outcome));
  };
}

function resultJson(id: string, outcome: Outcome, show: Show, requestId: string): string {
  const job = outcome instanceof SpineError ? null : show(outcome);
  if (job !== null) return `{"id":${JSON.stringify(id)},"ok":true,"job":${job}}`;
  const refusal = outcome instanceof SpineError ? outcome : new SpineError('not_found');
  return JSON.stringify({ ...nativeErrors.body(toldOf(refusal, requestId), SPINE_STATUS_OF), id, ok: false });
}
