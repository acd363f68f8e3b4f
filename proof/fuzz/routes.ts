export type Role = 'head' | 'left';

/** `{id}` and `{token}` stand for a job of the fuzzed pool and its lease token. */
export interface BodyRoute {
  readonly method: string;
  readonly path: string;
  readonly role: Role;
  readonly fields: readonly string[];
  /** What a good call would say beside the field under attack. */
  readonly base?: string;
  /** Puts the fields somewhere else than at the top. */
  readonly wrap?: (fields: string) => string;
}

const JOB_FIELDS = [
  'target',
  'queue',
  'spec',
  'meta',
  'maxAttempts',
  'type',
  'priority',
  'params',
  'title',
  'description',
  'runAt',
  'timeoutMs',
  'leaseMs',
  'retry',
  'uniqueKey',
  'tags',
  'after',
  'pool',
  'concurrencyKey',
  'budget',
  'parentId',
  'id',
  'state',
  'attempts',
  '__proto__',
  'unknownField',
];
const HELD = '"leaseToken":"{token}"';

export const BODY_ROUTES: readonly BodyRoute[] = [
  { method: 'POST', path: '/jobs', role: 'head', fields: JOB_FIELDS },
  { method: 'POST', path: '/jobs/batch', role: 'head', fields: ['jobs', 'unknownField'] },
  {
    method: 'POST',
    path: '/jobs/batch',
    role: 'head',
    fields: JOB_FIELDS,
    wrap: (one) => `{"jobs":[{},${one}]}`,
  },
  { method: 'POST', path: '/jobs/complete-batch', role: 'left', fields: ['jobs', 'items', 'completions'] },
  {
    method: 'POST',
    path: '/jobs/complete-batch',
    role: 'left',
    fields: ['id', 'leaseToken', 'result'],
    wrap: (one) => `{"jobs":[${one}]}`,
  },
  {
    method: 'POST',
    path: '/jobs/claim',
    role: 'left',
    fields: [
      'target',
      'targets',
      'types',
      'max',
      'waitMs',
      'leaseMs',
      'claimId',
      '__proto__',
      'unknownField',
    ],
  },
  { method: 'POST', path: '/jobs/{id}/claim', role: 'left', fields: ['leaseMs', 'claimId', 'unknownField'] },
  { method: 'POST', path: '/jobs/{id}/heartbeat', role: 'left', fields: ['progress', 'leaseToken'] },
  {
    method: 'POST',
    path: '/jobs/{id}/heartbeat',
    role: 'left',
    fields: ['progress', 'unknownField'],
    base: HELD,
  },
  {
    method: 'POST',
    path: '/jobs/{id}/complete',
    role: 'left',
    fields: ['result', 'next', 'leaseToken'],
    base: HELD,
  },
  { method: 'POST', path: '/jobs/{id}/fail', role: 'left', fields: ['error', 'requeue', 'next'], base: HELD },
  { method: 'POST', path: '/jobs/{id}/release', role: 'left', fields: ['reason', 'leaseToken'], base: HELD },
  { method: 'POST', path: '/jobs/{id}/comment', role: 'left', fields: ['text', 'unknownField'] },
  { method: 'POST', path: '/jobs/{id}/cancel', role: 'head', fields: ['reason', 'unknownField'] },
  { method: 'POST', path: '/jobs/{id}/retry', role: 'head', fields: ['reason', 'maxAttempts'] },
  { method: 'POST', path: '/jobs/{id}/redrive', role: 'head', fields: ['reason', 'maxAttempts'] },
  { method: 'POST', path: '/jobs/{id}/snooze', role: 'head', fields: ['untilAt', 'leaseToken'] },
  { method: 'POST', path: '/jobs/{id}/logs', role: 'left', fields: ['lines', 'text', 'level'], base: HELD },
  { method: 'POST', path: '/jobs/{id}/checkpoint', role: 'left', fields: ['data', 'checkpoint'], base: HELD },
  {
    method: 'POST',
    path: '/types',
    role: 'head',
    fields: ['name', 'label', 'sop', 'schema', 'params', 'retry'],
  },
  {
    method: 'PUT',
    path: '/types/fuzzed',
    role: 'head',
    fields: ['label', 'sop', 'schema', 'params', 'paramsSchema', 'retry'],
  },
  {
    method: 'PUT',
    path: '/pools/fuzzed',
    role: 'head',
    fields: ['capacity', 'perKey'],
    base: '"capacity":2',
  },
  { method: 'PUT', path: '/pools/fuzzed', role: 'head', fields: ['capacity'] },
  { method: 'POST', path: '/targets/fuzzed/pause', role: 'head', fields: ['unknownField'] },
  { method: 'POST', path: '/types/fuzzed/resume', role: 'head', fields: ['unknownField'] },
  {
    method: 'POST',
    path: '/schedules',
    role: 'head',
    fields: ['name', 'cron', 'tz', 'job', 'enabled', 'after'],
  },
  {
    method: 'POST',
    path: '/messages',
    role: 'head',
    fields: [
      'to_agent',
      'from_agent',
      'kind',
      'body',
      'priority',
      'reply_to',
      'expires_at',
      'ttl_s',
      'jobId',
    ],
  },
  { method: 'POST', path: '/approvals', role: 'head', fields: ['jobId', 'decision', 'reason'] },
  { method: 'POST', path: '/workers', role: 'head', fields: ['name', 'targets', 'capacity'] },
  { method: 'POST', path: '/agents', role: 'head', fields: ['id', 'name', 'capabilities'] },
  { method: 'POST', path: '/messages/readall', role: 'head', fields: ['agent'] },
  { method: 'POST', path: '/aliases', role: 'head', fields: ['name', 'target', 'url'] },
  {
    method: 'POST',
    path: '/mcp',
    role: 'head',
    fields: ['jsonrpc', 'method', 'params', 'id'],
    base: '"jsonrpc":"2.0"',
  },
];

export interface QueryRoute {
  readonly path: string;
  readonly keys: readonly string[];
}

export const QUERY_ROUTES: readonly QueryRoute[] = [
  {
    path: '/jobs',
    keys: [
      'status',
      'state',
      'target',
      'queue',
      'type',
      'tag',
      'q',
      'unassigned',
      'retries',
      'cursor',
      'limit',
      'x',
    ],
  },
  { path: '/jobs/{id}', keys: ['x', 'fields'] },
  { path: '/jobs/{id}/events', keys: ['after', 'limit', 'cursor'] },
  { path: '/jobs/{id}/logs', keys: ['after', 'limit'] },
  { path: '/events', keys: ['types', 'job', 'after', 'target'] },
  { path: '/stats', keys: ['target', 'since'] },
  { path: '/metrics', keys: ['x'] },
  { path: '/health', keys: ['x'] },
  { path: '/health/details', keys: ['x'] },
  { path: '/openapi.json', keys: ['x'] },
  { path: '/skill.md', keys: ['x'] },
  { path: '/types', keys: ['limit', 'cursor'] },
  { path: '/pools', keys: ['x'] },
  { path: '/pauses', keys: ['x'] },
  { path: '/schedules', keys: ['limit', 'cursor'] },
  { path: '/messages', keys: ['to_agent', 'agent', 'unread', 'status', 'limit', 'after'] },
  { path: '/workers', keys: ['limit'] },
  { path: '/config', keys: ['x'] },
];

/** A path with one segment that is not what it should be. */
export const SEGMENT_ROUTES: readonly string[] = [
  '/jobs/{evil}',
  '/jobs/{evil}/events',
  '/blobs/{evil}',
  '/types/{evil}',
  '/pools/{evil}',
  '/targets/{evil}/pause',
  '/jobs/{evil}/logs',
  '/schedules/{evil}',
  '/{evil}',
  '/jobs/{id}/{evil}',
  '//{evil}',
];
