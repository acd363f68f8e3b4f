/** A refusal in the words of the command that was typed: which option was wrong, where the job stands, what can be done about it. */

import type { Command } from 'commander';
import type { Failure } from './failure.ts';
import { duration } from './text/times.ts';

export function inTypedWords(failure: Failure, command: Command): Failure {
  const { code, details } = failure;
  const { state, field } = details;
  if (code === 'bad_request' && typeof field === 'string') return withFlag(failure, field, command);
  if (isAboutJobs(command) && typeof state === 'string' && code in STANDING)
    return standing(failure, state, command);
  return code === 'not_found' && failure.hint === RETENTION ? nothing(failure, command) : failure;
}

/** Options that are called otherwise than the field they set. */
const OPTIONS: Readonly<Record<string, string>> = {
  'retry.max': 'retries',
  maxRetries: 'retries',
  'retry.backoffMs': 'backoff',
  leaseMs: 'lease',
  timeoutMs: 'timeLimit',
  run_timeout_ms: 'timeLimit',
  schedule_every_ms: 'every',
  schedule_cron: 'cron',
  schedule_at: 'at',
  schedule_tz: 'tz',
  ends_at: 'until',
  untilAt: 'until',
  payload_message: 'message',
  payload_model: 'model',
  agent_id: 'agent',
  max_retries: 'retries',
  overlap_policy: 'overlap',
  delivery_guarantee: 'guarantee',
  resource_pool: 'pool',
  approval_timeout_s: 'approvalTimeout',
  trigger_delay_s: 'triggerDelay',
  jitter_s: 'jitter',
};

/** Only an option that was given can have been wrong. */
function withFlag(failure: Failure, field: string, command: Command): Failure {
  const [root = ''] = field.split(/[.[]/);
  const names = [OPTIONS[field], OPTIONS[root], root, root.replace(/s$/, ''), camel(root)];
  const option = command.options.find(
    (one) =>
      names.includes(one.attributeName()) && command.getOptionValueSource(one.attributeName()) === 'cli',
  );
  if (option?.long === undefined || option.long === null) return failure;
  const message = failure.message.replace(field, option.long);
  return { ...failure, message: option.flags.includes('<duration>') ? inDurations(message, root) : message };
}

/** A length of time was typed with its unit; the limits of the field are bare numbers. */
function inDurations(message: string, field: string): string {
  const unitMs = field.endsWith('_s') ? 1_000 : 1;
  return message.replace(/be .*from (\d+) to (\d+)\.$/, (_, least: string, most: string) => {
    const [from, to] = [least, most].map((count) => duration(Number(count) * unitMs));
    return `be from ${from} to ${to}.`;
  });
}

function camel(name: string): string {
  return name.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
}

/** What is said when the state of a job does not allow what was asked. */
const STANDING = { conflict: '', not_running: '', terminal_status: '', max_attempts_reached: '' };

const DONE: Readonly<Record<string, string>> = {
  cancel: 'cancelled',
  retry: 'opened again',
  redrive: 'given new attempts',
  claim: 'claimed',
  heartbeat: 'renewed',
  complete: 'completed',
  fail: 'failed',
  release: 'given back',
  snooze: 'put off',
};

function standing(failure: Failure, state: string, command: Command): Failure {
  const done = DONE[command.name()];
  const { why, problem } = failure.details;
  // What the server says itself is about this very case.
  if (typeof problem === 'string') return { ...failure, message: problem, hint: null };
  if (done === undefined) return failure;
  const [name] = command.args;
  const known =
    name !== undefined && (command.args.length === 1 || !command.registeredArguments[0]?.variadic);
  const subject = known ? `Job ${name}` : 'One of the jobs';
  const reason = typeof why === 'string' ? `; ${why}` : '';
  const message = `${subject} is ${state.replaceAll('_', ' ')} and cannot be ${done}${reason}.`;
  return { ...failure, message, hint: nextStep(state, command.name(), known ? name : '<job>') };
}

function nextStep(state: string, tried: string, job: string): string {
  if (state === 'dead') return `Give it new attempts with: npx spine jobs redrive ${job}`;
  if (['done', 'failed', 'cancelled', 'skipped'].includes(state))
    return tried === 'retry'
      ? `See: npx spine jobs get ${job}`
      : `Open it again with: npx spine jobs retry ${job}`;
  if (state === 'running') return `Wait for its end with: npx spine jobs wait ${job}`;
  if (state === 'queued' && tried !== 'retry' && tried !== 'redrive')
    return `Nobody holds it. Take it with: npx spine jobs claim ${job}`;
  return state === 'queued' ? 'It will be tried as it is.' : `What it waits for: npx spine jobs get ${job}`;
}

/** As the server says it. */
const NOTHING = 'There is nothing under that id or name.';
const RETENTION = 'Check it; finished jobs are removed after the retention time.';

/** The advice about the retention is for what it removes. */
function nothing(failure: Failure, command: Command): Failure {
  const [[what, name] = ['', '']] = Object.entries(failure.details);
  const kind = what === 'id' ? (isAboutJobs(command) ? 'no job' : 'nothing called') : `no ${what}`;
  const isBare = failure.message === NOTHING && typeof name === 'string' && name !== '';
  if (!isBare && !isAboutJobs(command)) return { ...failure, hint: null };
  const message = isBare ? `There is ${kind} ${name}.` : failure.message;
  if (isAboutJobs(command) || command.parent === null) return { ...failure, message };
  const list = command.parent.commands.find(
    (one) => one.name() === 'list' && one.registeredArguments.length === 0,
  );
  const hint = list === undefined ? 'Check its id or name.' : `See what there is with: npx ${path(list)}`;
  return { ...failure, message, hint };
}

function isAboutJobs({ parent }: Command): boolean {
  return parent !== null && path(parent) === 'spine jobs';
}

function path(command: Command): string {
  return command.parent === null ? command.name() : `${path(command.parent)} ${command.name()}`;
}
