/**
 * A job as the Spine door shows it: v0's fields always, native ones when they are set. It is put together as text: to
 * build an object and print that takes 1.7 µs more for a job that is handed out, 7 % of what the server's main thread
 * takes for it in `http-batches`, side by side on a shared 2-core machine.
 */

import type { Accepted } from '../../../domain/command.ts';
import type { Job, JobDetails, JobInput } from '../../../domain/job.ts';
import { queuedMs, runMs } from '../../../domain/job-times.ts';
import { retries } from '../../../domain/retry.ts';
import { SPINE_STATUS_OF } from '../../../domain/statuses.ts';
import type { HandedOn } from '../../../engine/engine.ts';
import { iso } from '../../iso.ts';
import type { Parts } from '../../parts.ts';
import { alwaysShown, shownWhenSet, stateFields } from './job-fields.ts';

const NO_COMMENTS: JobDetails['comments'] = [];

/** Details of a job that has nothing but its input: new, or claimed for the first time. */
export function onlyInput(input: JobInput, typeName: string | null): JobDetails {
  return {
    input,
    result: null,
    error: null,
    comments: NO_COMMENTS,
    typeName,
    retryOfId: null,
    parentId: null,
  };
}

/** Stored JSON is pasted in as it is: a large spec is neither parsed nor printed again. `extra` are further fields. */
export function jobJson(job: Job, details: JobDetails, extra = ''): string {
  return `{${alwaysShown(job)}${besideRow(job, details)}${extra}${storedJson(details)}}`;
}

function besideRow(job: Job, { input, comments, typeName, retryOfId, parentId }: JobDetails): string {
  return (
    (comments.length === 0 ? ',"comments":[]' : commentsField(comments)) +
    (input.tags.length === 0 ? ',"tags":[]' : `,"tags":${JSON.stringify(input.tags)}`) +
    shownWhenSet(job) +
    (job.startedAt === null ? '' : timeFields(job)) +
    textField('type', typeName) +
    textField('title', input.title) +
    textField('description', input.description) +
    retryField(job) +
    textField('retryOf', retryOfId) +
    textField('parentId', parentId) +
    textField('releaseReason', job.state === 'cancelled' || job.cancelRequested ? null : job.reason)
  );
}

function commentsField(comments: JobDetails['comments']): string {
  return `,"comments":${JSON.stringify(comments.map(({ at, by, text }) => ({ t: iso(at), by, text })))}`;
}

/** How long that took which has come to its end. */
function timeFields(job: Job): string {
  const ran = runMs(job);
  return `,"queuedMs":${queuedMs(job)}${ran === null ? '' : `,"runMs":${ran}`}`;
}

function retryField(job: Job): string {
  if (job.retryMode === 'requeue' && job.backoffMs === null) return '';
  const { max, count } = retries(job);
  return `,"retry":{"mode":"${job.retryMode}","max":${max},"backoffMs":${job.backoffMs},"count":${count}}`;
}

function storedJson({ input, result, error }: JobDetails): string {
  const isNew = result === null && error === null;
  return (
    (input.spec === null ? NO_SPEC : `,"spec":${input.spec}`) +
    (input.meta === null ? NO_META : `,"meta":${input.meta}`) +
    (isNew ? NO_OUTCOME : `,"result":${result},"error":${error}`) +
    jsonField('params', input.params) +
    jsonField('budget', input.budget)
  );
}

/** One more field, or nothing when there is no value. */
function textField(name: string, value: string | null): string {
  return value === null ? '' : `,"${name}":${JSON.stringify(value)}`;
}

function jsonField(name: string, json: string | null): string {
  return json === null ? '' : `,"${name}":${json}`;
}

/** v0 shows a job without a spec as an empty text, and one without meta as an empty object. */
const NO_SPEC = ',"spec":""';
const NO_META = ',"meta":{}';
const NO_OUTCOME = ',"result":null,"error":null';

/** What only the holder of the lease may see. */
export function forHolder(job: Job): string {
  return `,"leaseToken":${JSON.stringify(job.leaseToken)},"attempt":${job.attempts}`;
}

/** What others left for the holder; most left nothing. */
export function leftForHolder(left: HandedOn | undefined): string {
  if (left === undefined) return '';
  const answers = left.answers.map(
    ({ text, answer, answeredBy, answeredAt }) =>
      `{"question":${JSON.stringify(text)},"answer":${answer},"by":${JSON.stringify(answeredBy)},"at":"${iso(answeredAt ?? 0)}"}`,
  );
  return (
    (answers.length === 0 ? '' : `,"answers":[${answers.join(',')}]`) +
    (left.answersLeftOut ? ',"answersLeftOut":true' : '') +
    jsonField('checkpoint', left.checkpoint) +
    inputsFields(left.inputs)
  );
}

function inputsFields(inputs: HandedOn['inputs']): string {
  if (inputs === null) return '';
  const results = inputs.results.map(({ id, result }) => `${JSON.stringify(id)}:${result}`);
  const { leftOut } = inputs;
  return (
    `,"inputs":{${results.join(',')}}` +
    (leftOut.length === 0 ? '' : `,"inputsLeftOut":${JSON.stringify(leftOut)}`)
  );
}

/** A ready job that waits for a gateway is blocked on that, for as long as it is away. */
export function blockedField({ unserved }: Pick<Parts, 'unserved'>, { state, target }: Job): string {
  const isBlocked = state === 'queued' && target.startsWith('gateway:') && unserved(target) !== null;
  return isBlocked ? textField('blockedOn', target) : '';
}

/** Said to whoever makes it: it is no error, the gateway may come. */
export function warningField({ unserved }: Pick<Parts, 'unserved'>, { target }: Job): string {
  return target.startsWith('gateway:') ? textField('warning', unserved(target)) : '';
}

/** A repeated call says how the first one ended. */
export function outcomeOf({ repeated }: Accepted): string {
  return repeated === undefined
    ? ''
    : `,"outcome":{"verb":"${repeated.verb}","status":"${SPINE_STATUS_OF[repeated.state]}"}`;
}

/** For whoever has the job already: which one it is, and what became of it. */
export function briefJson(accepted: Accepted): string {
  const { id, no } = accepted.job;
  return `{"id":${JSON.stringify(id)},"no":${no},${stateFields(accepted.job)}${outcomeOf(accepted)}}`;
}
