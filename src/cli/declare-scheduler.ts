/** `spine schedules …`, `spine runs …`, `spine approvals …` */

import { type Command, Option } from 'commander';
import { type Act, collect, declare, milliseconds, TIME, whole } from './command.ts';
import { RUN_STATUSES } from './text/run-statuses.ts';

const SCHEDULE = ['<schedule>', 'its id, the beginning of its id, or its name'] as const;
const SCHEDULES = ['<schedules...>', 'ids, beginnings of ids, or names'] as const;
/** Of what changes or ends schedules. */
export const DRY_RUN = ['--dry-run', 'say what would happen, and change nothing'] as const;
const RUN = ['<run>', 'its id or the beginning of its id'] as const;
const APPROVAL = ['<approval>', 'its id or the beginning of its id'] as const;

export function declareScheduler(program: Command, act: Act): void {
  const schedules = declare(program, 'schedules', 'Work that comes back: by the clock, in chains, by hand.', [
    [
      'spine schedules add --name Report --cron "0 9 * * 1-5" --tz Europe/Stockholm --message "Write it"',
      'weekdays at nine',
    ],
    ['spine schedules list', 'all of them, with the next time'],
    ['spine schedules run Report --wait', 'now, and see how it ends'],
  ]);
  declareLooking(schedules, act);
  declareMaking(schedules, act);
  declareSteering(schedules, act);
  declareRuns(program, act);
  declareApprovals(program, act);
}

function declareLooking(schedules: Command, act: Act): void {
  declare(schedules, 'list', 'List the schedules.', [
    ['spine schedules list', 'all of them'],
    ['spine schedules list --disabled', 'those that do not fire'],
  ])
    .alias('ls')
    .option('--enabled', 'only those that fire')
    .option('--disabled', 'only those that do not')
    .action(act(async () => (await import('./commands/schedules.ts')).listSchedules));
  declare(schedules, 'tree', 'Show which schedule triggers which.', [
    ['spine schedules tree', 'chains from their roots down'],
  ]).action(act(async () => (await import('./commands/schedules.ts')).showTree));
  declare(schedules, 'get', 'Show a schedule.', [
    ['spine schedules get Report', 'for people'],
    ['spine schedules get Report --json', 'every field'],
  ])
    .argument(...SCHEDULE)
    .action(act(async () => (await import('./commands/schedules.ts')).getSchedule));
  declare(schedules, 'preview', 'Show when a schedule fires next, or a rule that is none yet.', [
    ['spine schedules preview Report', 'the next five times'],
    ['spine schedules preview Report -n 20', 'more of them'],
    ['spine schedules preview "0 9 * * 1-5" --tz Europe/Stockholm', 'before anything is made'],
  ])
    .argument('<what>', 'a schedule (id, beginning of its id, name), or a cron expression')
    .option('--tz <zone>', 'the time zone of a cron expression; UTC unless said')
    .option('-n, --count <number>', 'how many', whole, 5)
    .action(act(async () => (await import('./commands/schedules.ts')).previewSchedule));
  declare(schedules, 'runs', 'List the runs of a schedule, newest first.', [
    ['spine schedules runs Report', 'the 20 newest'],
  ])
    .argument(...SCHEDULE)
    .option('-n, --limit <number>', 'how many at most', whole, 20)
    .action(act(async () => (await import('./commands/schedules.ts')).runsOfSchedule));
  declare(schedules, 'missed', 'List the ticks of a schedule that did not fire, and why.', [
    ['spine schedules missed Report', 'the newest first'],
  ])
    .argument(...SCHEDULE)
    .option('-n, --limit <number>', 'how many at most', whole, 20)
    .action(act(async () => (await import('./commands/schedules.ts')).missedTicks));
}

function declareMaking(schedules: Command, act: Act): void {
  const add = declare(schedules, 'add', 'Create a schedule.', [
    [
      'spine schedules add --name Report --cron "0 9 * * 1-5" --tz Europe/Stockholm --message "Write it"',
      'weekdays at nine',
    ],
    [
      'spine schedules add --name Poll --every 10m --session-target queue --target any',
      'a job for any worker',
    ],
    ['spine schedules add --name Remind --in 2h --message "Call Ann" --once', 'once, then gone'],
    [
      'spine schedules add --name Send --parent Report --trigger-on success --message "Send it"',
      'after Report',
    ],
    [
      `echo '{"name":"Night","schedule":"0 2 * * *","payload_message":"…"}' | spine schedules add -`,
      'as JSON',
    ],
  ]).argument('[schedule]', 'the fields as JSON; - for standard input');
  withFields(add)
    .option('--dry-run', 'say when it would fire, and make nothing')
    .action(act(async () => (await import('./commands/schedules-add.ts')).addSchedule));
  const set = declare(schedules, 'set', 'Create a schedule, or make the one of that name as this says.', [
    ['spine schedules set --name Report --cron "0 8 * * 1-5" --message "Write it"', 'as often as you like'],
    ['spine schedules set --file report.json', 'from a file'],
  ]).argument('[schedule]', 'the fields as JSON; - for standard input');
  withFields(set)
    .option('--dry-run', 'say when it would fire, and change nothing')
    .action(act(async () => (await import('./commands/schedules-add.ts')).setSchedule));
  const update = declare(schedules, 'update', 'Change a schedule; what is not named stays.', [
    ['spine schedules update Report --cron "0 8 * * 1-5"', 'an hour earlier'],
    ['spine schedules update Report --set stale_threshold_s=600 --set payload_model=null', 'any field'],
  ])
    .argument(...SCHEDULE)
    .argument('[fields]', 'as JSON; - for standard input');
  withFields(update)
    .option(...DRY_RUN)
    .action(act(async () => (await import('./commands/schedules-add.ts')).updateSchedule));
}

/** The fields that people set most; --set and JSON take all of them. */
export function withFields(command: Command): Command {
  const choice = (flags: string, about: string, choices: readonly string[]): Option =>
    new Option(flags, about).choices(choices);
  return command
    .option('--name <name>', 'what it is called')
    .option('--description <text>', 'what it is for')
    .option('--cron <expression>', 'when: minute hour day month weekday, or six fields with seconds first')
    .option('--every <duration>', 'when: 30s, 10m, 1h30m', milliseconds)
    .option('--at <time>', `when: once; ${TIME}`)
    .option('--in <duration>', 'when: once, so long from now', milliseconds)
    .option('--manual', 'when: only by hand')
    .option('--tz <zone>', 'the time zone of --cron, --at and --until; UTC unless said')
    .option('-m, --message <text>', 'what the agent is told')
    .option('--command <command>', 'a shell command instead (needs SPINE_SHELL=on)')
    .option('--agent <name>', 'which agent; main unless said')
    .addOption(
      choice('--session-target <place>', 'where it runs; isolated unless said', [
        'isolated',
        'main',
        'shell',
        'queue',
      ]),
    )
    .option('-t, --target <name>', 'of a queue: who may claim the runs')
    .option('--type <name>', 'of a queue: the type of job')
    .option('--params <json>', 'of a queue: parameters of the type')
    .option('--model <model>', "the model, when not the agent's own")
    .option('--parent <schedule>', 'the schedule whose end triggers it')
    .addOption(choice('--trigger-on <end>', 'which end of the parent', ['success', 'failure', 'complete']))
    .option('--trigger-delay <duration>', 'how long after it', milliseconds)
    .option('--trigger-condition <condition>', 'only if the output fits: contains:<text> or regex:<pattern>')
    .addOption(choice('--overlap <policy>', 'when the run before is not over', ['skip', 'allow', 'queue']))
    .option('--retries <number>', 'how often a failed run is tried again', whole)
    .option('--time-limit <duration>', 'how long a run may take', milliseconds)
    .option('--pool <name>', 'runs of one pool share its slots')
    .addOption(
      choice('--guarantee <guarantee>', 'whether a crashed run is replayed', [
        'at-most-once',
        'at-least-once',
      ]),
    )
    .addOption(choice('--catch-up <policy>', 'what becomes of missed ticks', ['skip', 'once', 'all']))
    .option('--until <time>', `the last moment at which it may be due; ${TIME}`)
    .option('--max-runs <number>', 'how often it runs by itself before it is switched off', whole)
    .option('--jitter <duration>', 'up to how much later its ticks come', milliseconds)
    .option('--once', 'delete it after its first run that was ok')
    .option('--approval', 'somebody must approve its runs')
    .option('--approval-timeout <duration>', 'how long an approval is waited for', milliseconds)
    .addOption(choice('--approval-auto <verdict>', 'what happens then', ['approve', 'reject']))
    .option('--disabled', 'do not let it fire yet')
    .option('--set <field=value>', 'any other field; may be repeated', collect)
    .option('-f, --file <file>', 'the fields as JSON, from a file');
}

function declareSteering(schedules: Command, act: Act): void {
  const load = async () => await import('./commands/schedules-steer.ts');
  declare(schedules, 'enable', 'Let schedules fire again.', [
    ['spine schedules enable Report', 'from now on'],
  ])
    .argument(...SCHEDULES)
    .action(act(async () => (await load()).enableSchedules));
  declare(schedules, 'disable', 'Keep schedules from firing; what runs goes on.', [
    ['spine schedules disable Report', 'until it is enabled'],
  ])
    .argument(...SCHEDULES)
    .action(act(async () => (await load()).disableSchedules));
  declare(schedules, 'delete', 'Delete a schedule and everything below it.', [
    ['spine schedules delete Report', 'asks first on a terminal'],
  ])
    .alias('rm')
    .argument(...SCHEDULE)
    .option('-y, --yes', 'do not ask')
    .option(...DRY_RUN)
    .action(act(async () => (await load()).deleteSchedule));
  declare(schedules, 'cancel', 'Disable a schedule and end its runs, with everything below it.', [
    ['spine schedules cancel Report', 'the whole chain'],
    ['spine schedules cancel Report --no-cascade', 'this one alone'],
  ])
    .argument(...SCHEDULE)
    .option('--no-cascade', 'leave those below it alone')
    .option(...DRY_RUN)
    .action(act(async () => (await load()).cancelSchedule));
  declare(schedules, 'run', 'Make a run now; the next time stays as it is.', [
    ['spine schedules run Report', 'prints the id of the run'],
    ['spine schedules run Report --wait --timeout 10m', 'exits with 0 when it is ok, with 8 when it is not'],
  ])
    .argument(...SCHEDULE)
    .option('--wait', 'wait until it has ended')
    .option('--timeout <duration>', 'how long to wait at most', milliseconds)
    .action(act(async () => (await load()).runSchedule));
  declare(schedules, 'approve', 'Approve the oldest run of a schedule that waits for it.', [
    ['spine schedules approve Deploy', 'it starts at once'],
  ])
    .argument(...SCHEDULE)
    .option('--reason <text>', 'why')
    .action(act(async () => (await load()).approveSchedule));
  declare(schedules, 'reject', 'Reject the oldest run of a schedule that waits for approval.', [
    ['spine schedules reject Deploy --reason "not on Friday"', 'the run is cancelled'],
  ])
    .argument(...SCHEDULE)
    .option('--reason <text>', 'why')
    .action(act(async () => (await load()).rejectSchedule));
}

function declareRuns(program: Command, act: Act): void {
  const runs = declare(program, 'runs', 'What schedules made: their history.', [
    ['spine runs list --status error', 'what went wrong'],
    ['spine runs stale', 'what shows no life'],
  ]);
  declare(runs, 'list', 'List runs of all schedules, newest first.', [
    ['spine runs list', 'the 20 newest'],
    ['spine runs list --status running', 'those under way'],
  ])
    .alias('ls')
    .addOption(new Option('-s, --status <status>', 'only runs with this status').choices(RUN_STATUSES))
    .option('-n, --limit <number>', 'how many at most', whole, 20)
    .option('--before <number>', 'go on where the last page ended', whole)
    .action(act(async () => (await import('./commands/runs.ts')).listRuns));
  declare(runs, 'get', 'Show a run with its whole output.', [
    ['spine runs get 019a5c3e', 'for people'],
    ['spine runs get 019a5c3e --prompt', 'what its agent saw'],
  ])
    .argument(...RUN)
    .option('--prompt', 'what its agent was sent, and nothing else')
    .action(act(async () => (await import('./commands/runs.ts')).getRun));
  declare(runs, 'stale', 'List running runs that show no life.', [
    ['spine runs stale', 'silent for 90 s'],
    ['spine runs stale --threshold 10m', 'silent for longer'],
  ])
    .option('--threshold <duration>', 'how long they are silent; 90s unless said', milliseconds)
    .option('-n, --limit <number>', 'how many at most', whole, 20)
    .action(act(async () => (await import('./commands/runs.ts')).staleRuns));
  declare(runs, 'cancel', 'End runs; running work is told to stop.', [
    ['spine runs cancel 019a5c3e --reason "wrong day"', 'one'],
  ])
    .argument('<runs...>', 'ids or beginnings of ids')
    .option('--reason <text>', 'why')
    .action(act(async () => (await import('./commands/runs.ts')).cancelRuns));
}

function declareApprovals(program: Command, act: Act): void {
  const approvals = declare(program, 'approvals', "What waits for a person's word.", [
    ['spine approvals list --status pending', 'what waits'],
    ['spine approvals approve 019a5c3e', 'let it run'],
  ]);
  declare(approvals, 'list', 'List what waits and what was decided, newest first.', [
    ['spine approvals list', 'all of them'],
    ['spine approvals list --status pending', 'only what waits'],
  ])
    .alias('ls')
    .addOption(
      new Option('-s, --status <status>', 'only approvals with this status').choices([
        'pending',
        'approved',
        'rejected',
        'timed_out',
      ]),
    )
    .option('-n, --limit <number>', 'how many at most', whole, 20)
    .action(act(async () => (await import('./commands/approvals.ts')).listApprovals));
  declare(approvals, 'get', 'Show an approval and what it is about.', [
    ['spine approvals get 019a5c3e', 'for people'],
  ])
    .argument(...APPROVAL)
    .action(act(async () => (await import('./commands/approvals.ts')).getApproval));
  declare(approvals, 'approve', 'Let it run.', [['spine approvals approve 019a5c3e', 'it starts at once']])
    .argument(...APPROVAL)
    .option('--reason <text>', 'why')
    .option('--hash <hash>', 'what you saw; refused when something else waits')
    .action(act(async () => (await import('./commands/approvals.ts')).approve));
  declare(approvals, 'reject', 'Do not let it run; the job is cancelled.', [
    ['spine approvals reject 019a5c3e --reason "too early"', 'the reason is kept'],
  ])
    .argument(...APPROVAL)
    .option('--reason <text>', 'why')
    .option('--hash <hash>', 'what you saw; refused when something else waits')
    .action(act(async () => (await import('./commands/approvals.ts')).reject));
}
