/** What needs a transaction, by noun: each export of a file is a verb that writes or locks. */

export * as aliases from './aliases.ts';
export * as approvals from './approvals.ts';
export * as audit from './audit.ts';
export * as blobs from './blobs.ts';
export * as chains from './chains.ts';
export * as comments from './comments.ts';
export * as counters from './counters.ts';
export * as deliveries from './deliveries.ts';
export * as dependencies from './dependencies.ts';
export * as feed from './feed.ts';
export * as idempotency from './idempotency.ts';
export * as jobs from './jobs.ts';
export * as logs from './logs.ts';
export * as messages from './messages.ts';
export * as meta from './meta.ts';
export * as outbox from './outbox.ts';
export * as pools from './pools.ts';
export * as routing from './routing.ts';
export * as runs from './runs.ts';
export * as schedules from './schedules.ts';
export * as servers from './servers.ts';
export * as subscriptions from './subscriptions.ts';
export * as summaries from './summaries.ts';
export * as ticks from './ticks.ts';
export * as tokens from './tokens.ts';
export * as types from './types.ts';
