/** What the client is made of, the same everywhere. */

export type { SpineClientOptions } from './call-groups.ts';
export { Worker, type WorkerClient, type WorkerJobs, type WorkerOptions } from './worker.ts';
export type { JobContext } from './job-run.ts';
export type {
  AnyJobs,
  AwaitedJobOf,
  ClaimedJobOf,
  Handler,
  HandlersByType,
  JobOf,
  JobShape,
  JobsOf,
  NewJobOf,
  ResultOf,
  TypedJobs,
  TypeName,
} from './typed-jobs.ts';
export {
  AskAndWait,
  type FailureCause,
  JobFailure,
  type JobFailureOptions,
  JobInterrupted,
  type Interruption,
  NonRetryableError,
  PutOff,
  SpineApiError,
  SpineConnectionError,
} from './errors.ts';
export type { CallOptions } from './caller.ts';
export type { CreateOptions, HeartbeatOptions, LogAccepted, PageFrom, WaitOptions } from './jobs.ts';
export type { BlobContent, Download, UploadOptions } from './blobs.ts';
export type { EventsOptions } from './events.ts';
export { fetchTransport } from './transport-fetch.ts';
export type { RequestBody, Transport, TransportRequest, TransportResponse } from './transport.ts';
export type { Platform } from './platform.ts';
export type * from './delivery-types.ts';
export type * from './question-types.ts';
export type * from './message-types.ts';
export type * from './schedule-types.ts';
export type * from './types.ts';
