/** A job as the Spine door shows it: v0's fields always, native ones when they are set. */

import type { Accepted } from '../../domain/command.ts';
import type { JobEvent } from '../../domain/event.ts';
import { type Job, type JobDetails, type JobInput, STATES } from '../../domain/job.ts';
import { WORDS } from '../../domain/words.ts';
import {
  escaped,
  jsonField,
  numberField,
  quotedOrNull,
  textField,
  timeField,
  timeOrNull,
} from '../json-text.ts';
import { iso, withIsoTimes } from '../times.ts';

const STATE_FIELDS: Readonly<Record<string, string>> = Object.fromEntries(
  STATES.map((state) => [state, `"status":"${WORDS[state].spine}","state":"${state}"`]),
);

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
  return `{${shownAlways(job, details)}${shownWhenSet(job, details)}${extra}${storedJson(job, details)}}`;
}

function shownAlways(job: Job, { input, comments }: JobDetails): string {
  const isBare = comments.length === 0 && input.tags.length === 0;
  return (
    `"id":"${escaped(job.id)}","no":${job.no},"target":"${escaped(job.target)}",${STATE_FIELDS[job.state]}` +
    `,"createdAt":"${iso(job.createdAt)}"${isBare ? bareRest(job) : restOf(job, comments, input.tags)}`
  );
}

const NO_TAGS: JobInput['tags'] = [];

/** Jobs that are shown together are mostly alike in this: it is put together once for all of them. */
let lastShown: { readonly job: Job; readonly rest: string } | null = null;

function bareRest(job: Job): string {
  if (lastShown === null || !areAlike(lastShown.job, job))
    lastShown = { job, rest: restOf(job, NO_COMMENTS, NO_TAGS) };
  return lastShown.rest;
}

function areAlike(a: Job, b: Job): boolean {
  return (
    a.updatedAt === b.updatedAt &&
    a.createdBy === b.createdBy &&
    a.claimedBy === b.claimedBy &&
    a.leaseUntil === b.leaseUntil &&
    a.attempts === b.attempts &&
    a.maxAttempts === b.maxAttempts &&
    a.priority === b.priority &&
    a.leaseMs === b.leaseMs
  );
}

function restOf(job: Job, comments: JobDetails['comments'], tags: JobInput['tags']): string {
  return (
    `,"updatedAt":"${iso(job.updatedAt)}","createdBy":"${escaped(job.createdBy)}"` +
    `,"claimedBy":${quotedOrNull(job.claimedBy)},"leaseUntil":${timeOrNull(job.leaseUntil)}` +
    `,"attempts":${job.attempts},"maxAttempts":${job.maxAttempts}${commentsField(comments)}` +
    `,"priority":${job.priority},"leaseMs":${job.leaseMs},"tags":${JSON.stringify(tags)}`
  );
}

function commentsField(comments: JobDetails['comments']): string {
  if (comments.length === 0) return ',"comments":[]';
  return `,"comments":${JSON.stringify(comments.map(({ at, by, text }) => ({ t: iso(at), by, text })))}`;
}

/** What most jobs do not have. */
function shownWhenSet(job: Job, { input, typeName, retryOfId, parentId }: JobDetails): string {
  return (
    textField('type', typeName) +
    textField('title', input.title) +
    textField('description', input.description) +
    timeField('runAt', job.runAt > job.createdAt ? job.runAt : null) +
    timeField('finishedAt', job.finishedAt) +
    numberField('timeoutMs', job.timeoutMs) +
    retryField(job) +
    textField('retryOf', retryOfId) +
    timeField('retryAt', job.retryAt) +
    textField('uniqueKey', job.uniqueKey) +
    textField('pool', job.pool) +
    textField('concurrencyKey', job.concurrencyKey) +
    textField('blockedOn', job.blockedOn) +
    numberField('waitingFor', job.waitingFor === 0 ? null : job.waitingFor) +
    textField('parentId', parentId) +
    textField('scheduleId', job.scheduleId) +
    textField('approval', job.approval === 'none' ? null : job.approval) +
    textField('cause', job.cause) +
    (job.cancelRequested ? ',"cancelRequested":true' : '') +
    textField('reason', job.reason) +
    textField('releaseReason', job.state === 'cancelled' || job.cancelRequested ? null : job.reason)
  );
}

function retryField(job: Job): string {
  if (job.retryMode === 'requeue' && job.backoffMs === 0) return '';
  return `,"retry":{"mode":"${job.retryMode}","max":${job.retryMax},"backoffMs":${job.backoffMs},"count":${job.retryCount}}`;
}

function storedJson(job: Job, { input, result, error }: JobDetails): string {
  const isNew = result === null && error === null;
  return (
    (input.spec === null ? NO_SPEC : `,"spec":${input.spec}`) +
    (input.meta === null ? NO_META : `,"meta":${input.meta}`) +
    (isNew ? NO_OUTCOME : `,"result":${result},"error":${error}`) +
    jsonField('params', input.params) +
    jsonField('budget', input.budget) +
    jsonField('progress', job.progress)
  );
}

/** v0 shows a job without a spec as an empty text, and one without meta as an empty object. */
const NO_SPEC = ',"spec":""';
const NO_META = ',"meta":{}';
const NO_OUTCOME = ',"result":null,"error":null';

/** What only the holder of the lease may see. */
export function forHolder(job: Job): string {
  return `,"leaseToken":${quotedOrNull(job.leaseToken)},"attempt":${job.attempts}`;
}

/** A repeated call says how the first one ended. */
export function outcomeOf({ repeated }: Accepted): string {
  return repeated === undefined
    ? ''
    : `,"outcome":{"verb":"${repeated.verb}","status":"${WORDS[repeated.state].spine}"}`;
}

/** For whoever has the job already: which one it is, and what became of it. */
export function briefJson(accepted: Accepted): string {
  const { id, no, state } = accepted.job;
  return `{"id":"${escaped(id)}","no":${no},${STATE_FIELDS[state]}${outcomeOf(accepted)}}`;
}

export function eventView({ seq, at, kind, by, facts }: JobEvent): object {
  const fixed = { seq, t: iso(at), type: kind, by };
  return { ...fixed, ...withIsoTimes(facts ?? {}), ...fixed };
}
