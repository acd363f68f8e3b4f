/** `spine jobs …` */

import { Argument, type Command, Option } from 'commander';
import { type Act, collect, declare, JOB, JOBS, LEASE_TOKEN, milliseconds, TIME, whole } from './command.ts';
import { JOB_CHANGES, JOB_FILTERS, JOB_OPTIONS, type JobOption } from './job-options.ts';
import { STATES } from './text/states.ts';

export function declareJobs(program: Command, act: Act): void {
  const jobs = declare(program, 'jobs', 'Give work, look at it, do it.', [
    ['spine jobs add "Update the changelog"', 'a job for the left claw'],
    ['spine jobs list --state failed', 'what went wrong'],
    ['spine jobs wait 12 --timeout 10m', 'exits with 0 when it is done, with 8 when it failed'],
  ]);
  declareAdd(jobs, act);
  declareList(jobs, act);
  declareReading(jobs, act);
  declareWait(jobs, act);
  declareClaim(jobs, act);
  declareHolding(jobs, act);
  declareAsking(jobs, act);
  declareSteering(jobs, act);
}

function declareAdd(jobs: Command, act: Act): void {
  const add = declare(jobs, 'add', 'Create a job, or many.', [
    ['spine jobs add "Update the changelog"', 'text for the worker'],
    [`spine jobs add --target any --type digest --params '{"day":"monday"}'`, 'a job of a type'],
    ['spine jobs add "Water the plants" --run-at 2h --tag home', 'not before two hours from now'],
    [`echo '{"spec":"hello","priority":5}' | spine jobs add -`, 'the whole job as JSON'],
    ['spine jobs add --file jobs.jsonl --tag nightly', 'whole jobs from a file, with this tag'],
    ['cat jobs.jsonl | spine jobs add - --quiet', 'one job on each line; prints their ids'],
  ]).argument('[spec]', 'what to do: text or JSON; - reads whole jobs as JSON from standard input');
  for (const option of JOB_OPTIONS) declareField(add, option);
  add
    .option('--type <name>', 'the type of job')
    .option('--new-type', 'the type may be a new one, though others are declared')
    .option('--title <text>', 'a title for lists')
    .option('--description <text>', 'more about it')
    .option('--params <json>', 'parameters, checked against the schema of the type; - for standard input')
    .option('--meta <json>', 'notes of your own')
    .option('--tag <tag>', 'a tag; may be repeated', collect)
    .option('--retries <number>', 'how often it is tried again after a failure', whole)
    .option(
      '--backoff <duration>',
      'how long it waits after its first failure, then twice as long each time; 0s is not at all',
      milliseconds,
    )
    .option('--after <job>', 'not before that job was done; may be repeated', collect)
    .option('--parent <job>', 'the running job that asks for this one; workers need it, head does not')
    .option('--approval', 'somebody has to agree before it runs, within an hour')
    .option('-f, --file <path>', 'whole jobs as JSON from a file, as from standard input')
    .option('--idempotency-key <key>', 'the same key and job twice make one job')
    .option('--wait', 'wait until it has ended, as jobs wait does')
    .option('--timeout <duration>', 'how long to wait at most', milliseconds)
    .action(act(async () => (await import('./commands/jobs-add.ts')).addJobs));
}

function declareField(command: Command, { flags, about, is }: JobOption): void {
  if (is === 'whole') command.option(flags, about, whole);
  else if (is === 'duration') command.option(flags, about, milliseconds);
  else if (is === 'time') command.option(flags, `${about}; ${TIME}`);
  else if (is === 'texts') command.option(flags, `${about}; may be repeated`, collect);
  else command.option(flags, about);
}

function declareList(jobs: Command, act: Act): void {
  const list = declare(jobs, 'list', 'List jobs, newest first.', [
    ['spine jobs list', 'the 20 newest'],
    ['spine jobs list --state running --target left-claw', 'what the left claw does now'],
    ['spine jobs list --search "changelog" --limit 100', 'by words in title and description'],
    ['spine jobs list --all --json', 'every job, one JSON line each'],
  ])
    .alias('ls')
    .addOption(new Option('-s, --state <state>', 'only jobs in this state').choices(STATES))
    .option('-t, --target <name>', 'only jobs for this worker or queue')
    .option('--type <name>', 'only jobs of this type')
    .option('--tag <tag>', 'only jobs with this tag');
  for (const option of JOB_FILTERS) declareField(list, option);
  list
    .option('--search <words>', 'only jobs with these words')
    .option('--oldest', 'oldest first')
    .option('-n, --limit <number>', 'how many at most', whole, 20)
    .option('--cursor <cursor>', 'go on where the last page ended')
    .option('--all', 'page after page until the end')
    .action(act(async () => (await import('./commands/jobs-list.ts')).listJobs));
}

function declareReading(jobs: Command, act: Act): void {
  declare(jobs, 'get', 'Show everything about a job.', [
    ['spine jobs get 12', 'by its number'],
    ['spine jobs get 12 --events', 'with its history'],
    ['spine jobs get 12 --json', 'as JSON'],
  ])
    .argument(...JOB)
    .option('--events', 'with what happened to it')
    .action(act(async () => (await import('./commands/jobs-get.ts')).getJob));
  declare(jobs, 'attempts', 'Show what became of each claim of a job.', [
    ['spine jobs attempts 12', 'who had it, when, and how that ended'],
    ['spine jobs attempts 12 --json', 'as JSON'],
  ])
    .argument(...JOB)
    .action(act(async () => (await import('./commands/jobs-attempts.ts')).showAttempts));
  declare(jobs, 'logs', "Print a job's log.", [
    ['spine jobs logs 12', 'the log so far'],
    ['spine jobs logs 12 -f', 'and what follows, until the job has ended'],
  ])
    .alias('log')
    .argument(...JOB)
    .option('-f, --follow', 'go on until the job has ended')
    .addOption(
      new Option('--level <level>', 'only lines at least this important').choices([
        'debug',
        'info',
        'warn',
        'error',
      ]),
    )
    .option('--after <number>', 'only lines after this one', whole)
    .action(act(async () => (await import('./commands/jobs-logs.ts')).showLogs));
}

function declareWait(jobs: Command, act: Act): void {
  declare(jobs, 'wait', 'Wait until jobs have ended; exits with 8 when one did not succeed.', [
    ['spine jobs wait 12', 'for as long as it takes'],
    ['spine jobs wait 12 13 --timeout 10m', 'exits with 7 when ten minutes were not enough'],
  ])
    .argument(...JOBS)
    .option('--timeout <duration>', 'how long to wait at most', milliseconds)
    .action(act(async () => (await import('./commands/jobs-wait.ts')).waitForJobs));
}

function declareClaim(jobs: Command, act: Act): void {
  declare(jobs, 'claim', 'Take a job as a worker: the next one, or the one named.', [
    ['spine jobs claim', 'the next job of the left claw; exits with 3 when there is none'],
    ['spine jobs claim --target right-claw --wait 30s', 'waits for one; exits with 7 when none came'],
    ['spine jobs claim --json', 'with the lease token that the other calls take'],
  ])
    .argument('[job]', 'this very job')
    .option('-t, --target <name>', 'of this target; may be repeated', collect)
    .option('--type <name>', 'of this type; may be repeated', collect)
    .option('--capability <name>', 'what you can do, for jobs that require it; may be repeated', collect)
    .option('--max <number>', 'how many at most', whole)
    .option('--wait <duration>', 'how long to wait for one, at most 60s', milliseconds)
    .option('--lease <duration>', 'how long to hold it without a heartbeat', milliseconds)
    .action(act(async () => (await import('./commands/jobs-lease.ts')).claimJobs));
}

function declareHolding(jobs: Command, act: Act): void {
  declare(jobs, 'heartbeat', 'Renew the lease on a job; says when it was asked to stop.', [
    [`spine jobs heartbeat 12 --progress '{"percent":40}'`, 'and say how far it is'],
  ])
    .argument(...JOB)
    .option('--progress <json>', 'how far it is: text or JSON')
    .option(...LEASE_TOKEN)
    .action(act(async () => (await import('./commands/jobs-lease.ts')).beat));
  declare(jobs, 'complete', 'End a running job as done.', [
    ['spine jobs complete 12 "Pushed as 4f2c1a"', 'with a result'],
    ['make report.json && spine jobs complete 12 - < report.json', 'with JSON from a file'],
  ])
    .argument(...JOB)
    .argument('[result]', 'text or JSON; - for standard input')
    .option(...LEASE_TOKEN)
    .action(act(async () => (await import('./commands/jobs-lease.ts')).completeJob));
  declare(jobs, 'fail', 'End an attempt that went wrong; the job is queued again while attempts are left.', [
    ['spine jobs fail 12 "no network"', 'to be tried again'],
    ['spine jobs fail 12 "the branch is gone" --no-requeue', 'for good'],
  ])
    .argument(...JOB)
    .argument('[error]', 'text or JSON; - for standard input')
    .option('--no-requeue', 'do not try again')
    .option('--backoff', 'wait before it is tried again')
    .option(...LEASE_TOKEN)
    .action(act(async () => (await import('./commands/jobs-lease.ts')).failJob));
  declare(jobs, 'release', 'Give a running job back for somebody else.', [
    ['spine jobs release 12 --reason "my shift ends"', 'no attempt is used up'],
  ])
    .argument(...JOB)
    .option('--reason <text>', 'why')
    .option(...LEASE_TOKEN)
    .action(act(async () => (await import('./commands/jobs-lease.ts')).releaseJob));
  declare(jobs, 'snooze', 'Put a job off.', [
    ['spine jobs snooze 12 --until 30m', 'for half an hour'],
    ['spine jobs snooze 12 --until 2026-12-01T09:00:00Z', 'until then'],
  ])
    .argument(...JOB)
    .requiredOption('--until <time>', TIME)
    .option(...LEASE_TOKEN)
    .action(act(async () => (await import('./commands/jobs-lease.ts')).snoozeJob));
}

function declareAsking(jobs: Command, act: Act): void {
  declare(jobs, 'ask', 'Ask somebody and give the job back until the answer comes; no attempt is used up.', [
    ['spine jobs ask 12 "Ship it?" --to @ops --choice yes --choice no --timeout 2h', 'of two answers'],
    ['spine jobs ask 12 "Which day?" --to ada --timeout 1d --default monday', 'with an answer for silence'],
  ])
    .argument(...JOB)
    .argument('<question>', 'what to ask')
    .requiredOption('--to <name>', '@alias, or the name of an agent or a person')
    .requiredOption('--timeout <duration>', 'how long to wait for the answer', milliseconds)
    .option('--choice <text>', 'one of the only answers; may be repeated', collect)
    .option('--schema <json>', 'JSON Schema of the answer')
    .option('--default <json>', 'the answer when nobody gives one in time: text or JSON')
    .option(...LEASE_TOKEN)
    .action(act(async () => (await import('./commands/jobs-lease.ts')).askInJob));
  declare(jobs, 'checkpoint', 'Keep what the next holder of a job is to know; the last one counts.', [
    ['spine jobs checkpoint 12 "3 of 7 files are done"', 'text'],
    [`spine jobs checkpoint 12 '{"done":3}'`, 'or data'],
  ])
    .argument(...JOB)
    .argument('<checkpoint>', 'text or JSON; - for standard input')
    .option(...LEASE_TOKEN)
    .action(act(async () => (await import('./commands/jobs-lease.ts')).keepCheckpoint));
}

function declareSteering(jobs: Command, act: Act): void {
  declare(jobs, 'cancel', 'Cancel jobs; a running one is asked to stop.', [
    ['spine jobs cancel 12 --reason "not needed any more"', 'one job'],
    ['spine jobs bulk cancel --tag old', 'many'],
  ])
    .argument(...JOBS)
    .option('--reason <text>', 'why')
    .option('-y, --yes', 'do not ask')
    .action(act(async () => (await import('./commands/jobs-steer.ts')).cancelJobs));
  const change = declare(jobs, 'change', 'Change jobs that nobody holds.', [
    ['spine jobs change 12 --priority 9', 'sooner'],
    ['spine jobs change 12 --run-at 2h --tag later', 'not before two hours from now, with other tags'],
  ]).argument(...JOBS);
  for (const option of JOB_CHANGES) declareField(change, option);
  change
    .option('--params <json>', 'other parameters; - for standard input')
    .option('--tag <tag>', 'a tag, instead of those that it has; may be repeated', collect)
    .action(act(async () => (await import('./commands/jobs-steer.ts')).changeJobs));
  declare(jobs, 'remove', 'Remove ended jobs, with their history, logs and artifacts.', [
    ['spine jobs remove 12', 'it is not there any more'],
  ])
    .alias('rm')
    .argument(...JOBS)
    .option('-y, --yes', 'do not ask')
    .action(act(async () => (await import('./commands/jobs-steer.ts')).removeJobs));
  declare(jobs, 'retry', 'Open ended jobs again.', [['spine jobs retry 12', 'as if it had not ended']])
    .argument(...JOBS)
    .action(act(async () => (await import('./commands/jobs-steer.ts')).retryJobs));
  declare(jobs, 'redrive', 'Give dead jobs all their attempts again.', [
    ['spine jobs bulk redrive --state dead', 'all dead jobs'],
  ])
    .argument(...JOBS)
    .action(act(async () => (await import('./commands/jobs-steer.ts')).redriveJobs));
  const bulk = declare(jobs, 'bulk', 'Retry, cancel, redrive or delete all jobs that fit.', [
    ['spine jobs bulk retry --state dead --type digest --dry-run', 'how many there are'],
    ['spine jobs bulk cancel --tag old', 'a few at a time; Ctrl-C goes no further'],
  ])
    .addArgument(new Argument('<action>', 'what to do').choices(['retry', 'cancel', 'redrive', 'delete']))
    .addOption(new Option('-s, --state <state>', 'only jobs in this state').choices(STATES))
    .option('-t, --target <name>', 'only jobs for this worker or queue')
    .option('--type <name>', 'only jobs of this type')
    .option('--tag <tag>', 'only jobs with this tag')
    .option('--search <words>', 'only jobs with these words');
  for (const option of JOB_FILTERS) declareField(bulk, option);
  bulk
    .option('--dry-run', 'only count them')
    .option('-y, --yes', 'do not ask')
    .action(act(async () => (await import('./commands/jobs-bulk.ts')).bulkJobs));
  declare(jobs, 'comment', 'Say something about a job.', [
    ['spine jobs comment 12 "Ask Ada about the branch"', 'for everybody who reads the job'],
  ])
    .argument(...JOB)
    .argument('<text>', 'what to say; - for standard input')
    .action(act(async () => (await import('./commands/jobs-steer.ts')).commentOnJob));
}
