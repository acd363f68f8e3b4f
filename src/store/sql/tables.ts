/** How the nouns lie in their tables; a job's own row is in job-row.ts. */

import type { Agent } from '../../domain/agent.ts';
import type { Alias } from '../../domain/alias.ts';
import type { Approval } from '../../domain/approval.ts';
import type { Audit } from '../../domain/audit.ts';
import type { Blob } from '../../domain/blob.ts';
import type { Budget } from '../../domain/budget.ts';
import type { Bulk } from '../../domain/bulk.ts';
import type { Delivery } from '../../domain/delivery.ts';
import type { JobType } from '../../domain/job-type.ts';
import type { Message, Receipt } from '../../domain/message.ts';
import type { ModelCall } from '../../domain/model-call.ts';
import type { LimitRecord } from '../../domain/provider-limit.ts';
import type { Question } from '../../domain/question.ts';
import type { Run } from '../../domain/run.ts';
import type { Schedule } from '../../domain/schedule.ts';
import type { Streak } from '../../domain/streak.ts';
import type { Subscription } from '../../domain/subscription.ts';
import type { DataBatch, ResultFile } from '../../domain/task-data.ts';
import type { Token } from '../../domain/token.ts';
import type { User } from '../../domain/user.ts';
import type { WorkerSlot } from '../../domain/worker-slot.ts';
import { tableOf } from './table.ts';

export const AGENT = tableOf<Agent>('agent', {
  id: 'text',
  name: 'text',
  status: 'text',
  lastSeenAt: 'bigint',
  capabilities: 'json',
  registered: 'flag',
  createdAt: 'bigint',
});

export const ALIAS = tableOf<Alias>('alias', {
  alias: 'text',
  channel: 'text',
  target: 'text',
  description: 'text',
  createdAt: 'bigint',
});

export const APPROVAL = tableOf<Approval>('approval', {
  jobNo: 'bigint',
  scheduleId: 'text',
  status: 'text',
  timeoutMs: 'bigint',
  auto: 'text',
  hash: 'text',
  requestedAt: 'bigint',
  expiresAt: 'bigint',
  resolvedAt: 'bigint',
  resolvedBy: 'text',
  notes: 'text',
});

export const AUDIT = tableOf<Audit & { readonly no: number }>('audit', {
  no: 'bigint',
  at: 'bigint',
  by: ['actor', 'text'],
  action: 'text',
  subject: 'text',
  facts: 'json',
});

export const BLOB = tableOf<Blob>('blob', {
  id: 'text',
  filename: 'text',
  size: 'bigint',
  sha256: 'text',
  contentType: 'text',
  jobNo: 'bigint',
  createdAt: 'bigint',
  createdBy: 'text',
});

export const BULK = tableOf<Bulk>('bulk', {
  no: 'bigint',
  id: 'text',
  action: 'text',
  filter: 'json',
  state: 'text',
  createdBy: 'text',
  role: 'text',
  createdAt: 'bigint',
  steppedAt: 'bigint',
  endedAt: 'bigint',
  count: ['jobs', 'bigint'],
  lastNo: 'bigint',
  doneNo: 'bigint',
  changed: 'bigint',
  refused: 'bigint',
});

export const BUDGET = tableOf<Budget>('budget', {
  typeNo: 'bigint',
  tokens: 'bigint',
  costMicros: 'bigint',
  usedUpOn: 'bigint',
  raised: 'bigint',
  raisedOn: 'bigint',
  held: 'flag',
});

/** Its address has a column of its own beside the channel and the target that make it. */
export const DELIVERY = tableOf<Delivery>('delivery', {
  no: 'bigint',
  id: 'text',
  kind: 'text',
  jobNo: 'bigint',
  alias: 'text',
  channel: 'text',
  target: 'text',
  text: ['body', 'text'],
  buttons: 'json',
  status: 'text',
  attempts: 'bigint',
  partsSent: 'bigint',
  proof: 'text',
  error: 'text',
  createdAt: 'bigint',
  dueAt: 'bigint',
  deliveredAt: 'bigint',
});

export const MESSAGE = tableOf<Message>('message', {
  no: 'bigint',
  id: 'text',
  sender: 'text',
  recipient: 'text',
  kind: 'text',
  subject: 'text',
  body: 'text',
  priority: 'bigint',
  rank: 'bigint',
  owner: 'text',
  replyTo: 'text',
  threadNo: 'bigint',
  scheduleId: 'text',
  jobNo: 'bigint',
  status: 'text',
  error: 'text',
  createdAt: 'bigint',
  deliveredAt: 'bigint',
  expiresAt: 'bigint',
});

export const QUESTION = tableOf<Question>('question', {
  no: 'bigint',
  id: 'text',
  jobNo: 'bigint',
  rootNo: 'bigint',
  text: ['body', 'text'],
  to: ['recipient', 'text'],
  choices: 'json',
  schema: 'text',
  fallback: 'text',
  askedBy: 'text',
  askedAt: 'bigint',
  expiresAt: 'bigint',
  leaseToken: 'text',
  status: 'text',
  answer: 'text',
  answeredBy: 'text',
  answeredAt: 'bigint',
});

export const RECEIPT = tableOf<Receipt>('receipt', {
  messageNo: 'bigint',
  agent: 'text',
  rank: 'bigint',
  expiresAt: 'bigint',
  open: 'flag',
  jobNo: 'bigint',
  fence: 'bigint',
  deliveredAt: 'bigint',
  readAt: 'bigint',
});

export const RUN = tableOf<Run>('run', {
  jobNo: 'bigint',
  scheduleId: 'text',
  kind: 'text',
  dueAt: 'bigint',
  triggeredBy: 'bigint',
  active: 'smallint',
  sessionKey: 'text',
  transport: 'text',
  dispatchedAt: 'bigint',
  lastHeartbeat: 'bigint',
  contextSummary: 'text',
  promptHash: 'text',
});

/** Its name, its parent and who keeps it have columns of their own beside the spec that says them. */
export const SCHEDULE = tableOf<Schedule>('schedule', {
  no: 'bigint',
  id: 'text',
  enabled: 'flag',
  spec: 'json',
  nextRunAt: 'bigint',
  lastRunAt: 'bigint',
  lastStatus: 'text',
  consecutiveErrors: 'bigint',
  runCount: 'bigint',
  updatedAt: 'bigint',
  createdAt: 'bigint',
  createdBy: 'text',
  spawnedBy: 'text',
});

export const LIMIT = tableOf<LimitRecord>('provider_limit', {
  provider: 'text',
  untilAt: 'bigint',
  strikes: 'bigint',
});

export const STREAK = tableOf<Streak>('streak', {
  typeNo: 'bigint',
  fingerprint: 'text',
  roots: 'json',
});

export const SUBSCRIPTION = tableOf<Subscription>('subscription', {
  no: 'bigint',
  id: 'text',
  alias: 'text',
  events: 'json',
  typeNo: 'bigint',
  scheduleId: 'text',
  target: 'text',
  jobNo: 'bigint',
  createdAt: 'bigint',
  createdBy: 'text',
});

export const TOKEN = tableOf<Token>('token', {
  id: 'text',
  name: 'text',
  role: 'text',
  targets: 'json',
  grants: 'json',
  hash: 'text',
  createdAt: 'bigint',
  createdBy: 'text',
  revokedAt: 'bigint',
});

export const TYPE = tableOf<JobType>('job_type', {
  no: 'bigint',
  name: 'text',
  label: 'text',
  sop: 'text',
  paramsSchema: 'text',
  maxRetries: 'bigint',
  backoffMs: 'bigint',
  scoring: 'json',
  provider: 'text',
  declared: 'flag',
  active: 'flag',
  createdAt: 'bigint',
  updatedAt: 'bigint',
});

export const MODEL_CALL = tableOf<ModelCall>('model_call', {
  no: 'bigint',
  at: 'bigint',
  purpose: 'text',
  subject: 'text',
  model: 'text',
  inputTokens: 'bigint',
  outputTokens: 'bigint',
  tookMs: 'bigint',
  error: 'text',
});

export const DATA_BATCH = tableOf<DataBatch>('task_batch', {
  key: 'text',
  jobNo: 'bigint',
  dataType: 'text',
  items: 'bigint',
  size: 'bigint',
  sha256: 'text',
  uploadedAt: 'bigint',
  uploadedBy: 'text',
});

export const RESULT_FILE = tableOf<ResultFile>('task_file', {
  id: 'text',
  jobNo: 'bigint',
  filename: 'text',
  key: ['s3_key', 'text'],
  contentType: 'text',
  size: ['size_bytes', 'bigint'],
  uploadedBy: 'text',
  createdAt: 'bigint',
});

export const USER = tableOf<User>('user_account', {
  id: 'text',
  email: 'text',
  emailKey: 'text',
  fullName: 'text',
  timezone: 'text',
  name: 'text',
  passwordHash: 'text',
  passwordAt: 'bigint',
  admin: 'flag',
  worker: 'flag',
  active: 'flag',
  createdAt: 'bigint',
  lastLoginAt: 'bigint',
  lastActivityAt: 'bigint',
});

export const WORKER_SLOT = tableOf<WorkerSlot>('worker_slot', {
  slot: 'text',
  status: 'text',
  instance: 'text',
  takenBy: 'text',
  jobId: 'text',
  attempt: 'bigint',
  title: 'text',
  sessionId: 'text',
  leftSession: 'text',
  lastUpdate: 'bigint',
  startedAt: 'bigint',
  restartCount: 'bigint',
  draining: 'flag',
  metadata: 'json',
});
