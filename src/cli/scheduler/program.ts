/** All commands of `openclaw-scheduler`: the words of the scheduler's text, where a schedule is a job. */

import { Command } from 'commander';
import { type Act, declare, whole, withExamples } from '../command.ts';
import { declareBackup } from '../declare-backup.ts';
import { declareAliases } from '../declare-delivery.ts';
import { declareMail, type Shaped } from '../declare-mail.ts';
import { DRY_RUN, withFields } from '../declare-scheduler.ts';
import { addGlobalOptions, EXIT_CODES } from '../program.ts';

const JOB = ['<id>', 'of the job: its id, the beginning of its id, or its name'] as const;
const JOBS = ['<ids...>', 'of the jobs: ids, beginnings of ids, or names'] as const;

export function buildSchedulerProgram(act: Act, version: string): Command {
  const program = new Command('openclaw-scheduler')
    .description('The scheduler of Spine: jobs that come back, their runs and approvals.')
    .version(version, '-v, --version', 'print the version')
    .helpOption('-h, --help', 'print this help')
    .helpCommand('help [command]', 'print the help of a command');
  addGlobalOptions(program);
  declare(program, 'status', 'How many jobs there are, what runs, what is stuck, what comes next.', [
    ['openclaw-scheduler status', 'the overview'],
  ]).action(act(async () => (await load()).status));
  declareJobs(program, act);
  declareRuns(program, act);
  declareApprovals(program, act);
  declareMail(program, act, shapedMail);
  declareAliases(program, act);
  declareBackup(program, act);
  declare(program, 'completion', 'Print the completion script of a shell.', [
    ['source <(openclaw-scheduler completion bash)', 'in ~/.bashrc'],
  ])
    .argument('<shell>', 'bash, zsh, fish or powershell')
    .argument('[words...]', 'for the scripts: after the word words, what has been typed')
    .action(act(async () => (await import('../commands/completion.ts')).completionOf(buildSchedulerProgram)));
  return withExamples(program, [
    ['openclaw-scheduler jobs list', 'all jobs with their next run'],
    [`openclaw-scheduler jobs add '{"name":"Night","schedule":"0 2 * * *","payload_message":"…"}'`, 'a job'],
    ['openclaw-scheduler runs stale', 'what is stuck'],
  ]).addHelpText('after', `\n${EXIT_CODES}`);
}

/** Lists stand alone, and what was done says so. */
const shapedMail: Shaped = (handler, shape) => async () => {
  const { asAgent, asDone, asMessage, asRows, shaped } = await load();
  const shapes = { message: asMessage, messages: asRows, agent: asAgent, agents: asRows, done: asDone };
  return shaped(await handler(), shapes[shape]);
};

const load = async () => await import('./handlers.ts');
const looking = async () => await import('../commands/schedules.ts');
const steering = async () => await import('../commands/schedules-steer.ts');

function declareJobs(program: Command, act: Act): void {
  const jobs = declare(program, 'jobs', 'What is scheduled.', [
    ['openclaw-scheduler jobs list', 'all of them'],
    ['openclaw-scheduler jobs run Night', 'now'],
  ]);
  declare(jobs, 'list', 'All jobs with their next run.', [['openclaw-scheduler jobs list', 'as a table']])
    .alias('ls')
    .action(act(async () => (await load()).shaped((await looking()).listSchedules, (await load()).asRows)));
  declare(jobs, 'tree', 'Which job triggers which.', [
    ['openclaw-scheduler jobs tree', 'from the roots down'],
  ]).action(act(async () => (await load()).shaped((await looking()).showTree, (await load()).asRows)));
  declare(jobs, 'get', 'The details of a job.', [['openclaw-scheduler jobs get Night --json', 'every field']])
    .argument(...JOB)
    .action(act(async () => (await load()).shaped((await looking()).getSchedule, (await load()).asJob)));
  declareMaking(jobs, act);
  declareSteering(jobs, act);
}

function declareMaking(jobs: Command, act: Act): void {
  withFields(
    declare(jobs, 'add', 'Create a job.', [
      [
        `openclaw-scheduler jobs add '{"name":"Night","schedule":"0 2 * * *","payload_message":"…"}'`,
        'from JSON',
      ],
      ['openclaw-scheduler jobs add - < job.json', 'from standard input'],
      ['openclaw-scheduler jobs add --name Night --cron "0 2 * * *" --message "…"', 'from options'],
    ]).argument('[json]', 'the fields as JSON; - for standard input'),
  )
    .option('--dry-run', 'say when it would run, and make nothing')
    .action(act(async () => (await load()).addJob));
  withFields(
    declare(jobs, 'update', 'Change fields of a job; what is not named stays.', [
      [`openclaw-scheduler jobs update Night '{"max_retries":2}'`, 'from JSON'],
    ])
      .argument(...JOB)
      .argument('[json]', 'the fields as JSON; - for standard input'),
  )
    .option(...DRY_RUN)
    .action(act(async () => (await load()).updateJob));
}

function declareSteering(jobs: Command, act: Act): void {
  declare(jobs, 'enable', 'Let jobs run by themselves.', [
    ['openclaw-scheduler jobs enable Night', 'from now on'],
  ])
    .argument(...JOBS)
    .action(act(async () => (await load()).shaped((await steering()).enableSchedules, (await load()).asJob)));
  declare(jobs, 'disable', 'Keep jobs from running by themselves.', [
    ['openclaw-scheduler jobs disable Night', 'until it is enabled'],
  ])
    .argument(...JOBS)
    .action(
      act(async () => (await load()).shaped((await steering()).disableSchedules, (await load()).asJob)),
    );
  declare(jobs, 'delete', 'Delete a job and everything below it.', [
    ['openclaw-scheduler jobs delete Night', 'asks first on a terminal'],
  ])
    .alias('rm')
    .argument(...JOB)
    .option('-y, --yes', 'do not ask')
    .option(...DRY_RUN)
    .action(act(async () => (await load()).shaped((await steering()).deleteSchedule, (await load()).asDone)));
  declare(jobs, 'cancel', 'Disable a job and end its runs, with everything below it.', [
    ['openclaw-scheduler jobs cancel Night --no-cascade', 'this one alone'],
  ])
    .argument(...JOB)
    .option('--no-cascade', 'leave those below it alone')
    .option(...DRY_RUN)
    .action(act(async () => (await load()).shaped((await steering()).cancelSchedule, (await load()).asDone)));
  declare(jobs, 'run', 'Run a job now; its next run stays as it is.', [
    ['openclaw-scheduler jobs run Night --wait', 'and see how it ends'],
  ])
    .argument(...JOB)
    .option('--wait', 'wait until it has ended')
    .action(act(async () => (await load()).shaped((await steering()).runSchedule, (await load()).asDone)));
  declare(jobs, 'approve', 'Let the oldest run of a job that waits for approval go.', [
    ['openclaw-scheduler jobs approve Deploy', 'it starts at once'],
  ])
    .argument(...JOB)
    .action(
      act(async () => (await load()).shaped((await steering()).approveSchedule, (await load()).asDone)),
    );
  declare(jobs, 'reject', 'Cancel the oldest run of a job that waits for approval.', [
    ['openclaw-scheduler jobs reject Deploy "not on Friday"', 'with the reason'],
  ])
    .argument(...JOB)
    .argument('[reason]', 'why')
    .action(act(async () => (await load()).shaped((await load()).rejectJob, (await load()).asDone)));
}

function declareRuns(program: Command, act: Act): void {
  const runs = declare(program, 'runs', 'What jobs did.', [
    ['openclaw-scheduler runs list Night', 'its history'],
    ['openclaw-scheduler runs running', 'what is under way'],
  ]);
  declare(runs, 'list', 'The runs of a job, newest first.', [
    ['openclaw-scheduler runs list Night 50', 'up to 50'],
  ])
    .alias('ls')
    .argument('<job-id>', 'its id, the beginning of its id, or its name')
    .argument('[limit]', 'how many at most; 20 unless said', whole)
    .action(act(async () => (await load()).shaped((await load()).runsOfJob, (await load()).asRows)));
  declare(runs, 'running', 'What is under way.', [['openclaw-scheduler runs running', 'of all jobs']]).action(
    act(async () => (await load()).shaped((await load()).runningRuns, (await load()).asRows)),
  );
  declare(runs, 'stale', 'Runs that show no life.', [
    ['openclaw-scheduler runs stale 600', 'for ten minutes'],
  ])
    .argument('[threshold-s]', 'for how many seconds; 90 unless said', whole)
    .action(act(async () => (await load()).shaped((await load()).staleRunsOf, (await load()).asRows)));
  declare(runs, 'get', 'Show a run with its whole output.', [
    ['openclaw-scheduler runs get 019a5c3e', 'one'],
    ['openclaw-scheduler runs get 019a5c3e --prompt', 'what its agent saw'],
  ])
    .argument('<run-id>', 'its id or the beginning of its id')
    .option('--prompt', 'what its agent was sent, and nothing else')
    .action(act(async () => (await import('../commands/runs.ts')).getRun));
}

function declareApprovals(program: Command, act: Act): void {
  const approvals = declare(program, 'approvals', "What waits for a person's word, and what was decided.", [
    ['openclaw-scheduler approvals pending', 'what waits'],
  ]);
  declare(approvals, 'list', 'All of them, newest first.', [
    ['openclaw-scheduler approvals list', 'as a table'],
  ])
    .alias('ls')
    .action(act(async () => (await load()).shaped((await load()).allApprovals, (await load()).asRows)));
  declare(approvals, 'pending', 'What waits.', [
    ['openclaw-scheduler approvals pending', 'as a table'],
  ]).action(act(async () => (await load()).shaped((await load()).pendingApprovals, (await load()).asRows)));
}
