/** The tools, each with the route that it calls: what a route takes, a tool takes, under the same names. */

export interface ToolRow {
  readonly name: string;
  readonly title: string;
  /** The name of the route. */
  readonly route: string;
  /** What a model should know beside what the description of the API says. */
  readonly more?: string;
  /** What it asks for unless told otherwise. */
  readonly usual?: Readonly<Record<string, unknown>>;
  /** The most that a number may be here: models read less than programs. */
  readonly atMost?: Readonly<Record<string, number>>;
  readonly effect: Effect;
}

/** `looks` changes nothing; `adds` leaves something more; `sets` may be repeated; `ends` takes something away. */
export type Effect = 'looks' | 'adds' | 'sets' | 'ends';

/** Clients give up on a call after a minute. */
const WAIT_MS = 50_000;
const CLAIMED = 10;
const PAGE = 20;
const PAGE_MOST = 100;

const page = { usual: { limit: PAGE }, atMost: { limit: PAGE_MOST } } as const;
const UNDER_LEASE = 'Pass the leaseToken that the claim returned.';

export const TOOLS: readonly ToolRow[] = [
  {
    name: 'who_am_i',
    title: 'Who you are',
    route: 'getMe',
    more: 'An agent without a task begins here.',
    effect: 'looks',
  },
  {
    name: 'claim_jobs',
    title: 'Take work',
    route: 'claimNext',
    more: 'Each job comes with leaseToken, leaseUntil and attempt: pass leaseToken on to every call about the job, send heartbeat before leaseUntil, and end it with complete_job, fail_job, release_job or ask. An empty list means that there is nothing to do: ask again.',
    atMost: { waitMs: WAIT_MS, max: CLAIMED },
    effect: 'adds',
  },
  {
    name: 'claim_job',
    title: 'Take this very job',
    route: 'claimJob',
    more: 'It comes with leaseToken, leaseUntil and attempt, as in claim_jobs.',
    effect: 'adds',
  },
  {
    name: 'heartbeat',
    title: 'Keep a job',
    route: 'heartbeat',
    more: `${UNDER_LEASE} Gives more time: leaseUntil is new. Stop when cancelRequested is true or the answer is lease_lost. Heed the messages.`,
    effect: 'sets',
  },
  {
    name: 'write_checkpoint',
    title: 'Leave a checkpoint',
    route: 'writeCheckpoint',
    more: UNDER_LEASE,
    effect: 'sets',
  },
  {
    name: 'write_log',
    title: 'Write to the log of a job',
    route: 'writeLogs',
    more: `${UNDER_LEASE} A line is {"text":"…","level":"info"}; debug, warn and error are levels, too.`,
    effect: 'adds',
  },
  { name: 'ask', title: 'Ask and wait', route: 'askAndWait', more: UNDER_LEASE, effect: 'ends' },
  { name: 'complete_job', title: 'End a job well', route: 'completeJob', more: UNDER_LEASE, effect: 'ends' },
  { name: 'fail_job', title: 'Say that it went wrong', route: 'failJob', more: UNDER_LEASE, effect: 'ends' },
  { name: 'release_job', title: 'Give a job back', route: 'releaseJob', more: UNDER_LEASE, effect: 'ends' },
  { name: 'snooze_job', title: 'Put a job off', route: 'snoozeJob', more: UNDER_LEASE, effect: 'ends' },
  {
    name: 'create_job',
    title: 'Create a job',
    route: 'createJob',
    more: 'Workers and runs name in parentId the job that they hold.',
    effect: 'adds',
  },
  { name: 'get_job', title: 'Read a job', route: 'getJob', effect: 'looks' },
  {
    name: 'wait_for_job',
    title: 'Wait for the result of a job',
    route: 'getJob',
    more: 'Waits 30s unless told otherwise; when ended is still false, wait again. Then state says how it ended, and result or error what came of it.',
    usual: { wait: '30s' },
    effect: 'looks',
  },
  {
    name: 'list_jobs',
    title: 'List and search jobs',
    route: 'listJobs',
    more: 'nextCursor is the cursor of the next page.',
    ...page,
    effect: 'looks',
  },
  { name: 'comment_job', title: 'Comment on a job', route: 'commentJob', effect: 'adds' },
  { name: 'cancel_job', title: 'Cancel a job', route: 'cancelJob', effect: 'ends' },
  { name: 'retry_job', title: 'Open an ended job again', route: 'retryJob', effect: 'adds' },
  { name: 'list_events', title: 'What happened to a job', route: 'getJobEvents', ...page, effect: 'looks' },
  { name: 'read_log', title: 'Read the log of a job', route: 'readLogs', ...page, effect: 'looks' },
  { name: 'list_artifacts', title: 'List the files of a job', route: 'listBlobs', ...page, effect: 'looks' },
  { name: 'list_questions', title: 'List questions', route: 'listQuestions', ...page, effect: 'looks' },
  { name: 'answer_question', title: 'Answer a question', route: 'answerQuestion', effect: 'ends' },
  {
    name: 'list_approvals',
    title: 'What waits for approval',
    route: 'listApprovals',
    ...page,
    effect: 'looks',
  },
  { name: 'approve', title: 'Let a job run', route: 'approve', effect: 'ends' },
  { name: 'reject', title: 'Do not let a job run', route: 'reject', effect: 'ends' },
  { name: 'list_schedules', title: 'List schedules', route: 'listSchedules', ...page, effect: 'looks' },
  { name: 'get_schedule', title: 'Read a schedule', route: 'getSchedule', effect: 'looks' },
  { name: 'create_schedule', title: 'Create a schedule', route: 'createSchedule', effect: 'adds' },
  { name: 'run_schedule', title: 'Run a schedule now', route: 'runSchedule', effect: 'adds' },
  { name: 'enable_schedule', title: 'Let a schedule fire', route: 'enableSchedule', effect: 'sets' },
  {
    name: 'disable_schedule',
    title: 'Keep a schedule from firing',
    route: 'disableSchedule',
    effect: 'sets',
  },
  { name: 'send_message', title: 'Tell another agent', route: 'sendMessage', effect: 'adds' },
  { name: 'list_messages', title: 'Read messages', route: 'listMessages', ...page, effect: 'looks' },
  { name: 'read_message', title: 'Mark a message as read', route: 'readMessage', effect: 'sets' },
  { name: 'list_types', title: 'List the kinds of work', route: 'listTypes', ...page, effect: 'looks' },
  { name: 'get_type', title: 'Read a kind of work', route: 'getType', effect: 'looks' },
  { name: 'get_stats', title: 'How many jobs there are', route: 'getStats', effect: 'looks' },
];
