/** Judges what became of tasks that fail whenever they are tried, and what people were told of it. */

export const MAX_RETRIES = 2;
export const HOPELESS_WORDS = 'no such ticker';
/** So many kinds of failure are asked about; among the first few is the one that no retry can mend. */
export const KINDS = 32;
export const HOPELESS = 3;

const SYLLABLES = ['ba', 'de', 'fi', 'go', 'lu', 'mar', 'nex', 'pyl'];

/** What its worker says; in numbers alone failures do not differ. */
export function wordsOf(failure: number, wave: number): string {
  const { length } = SYLLABLES;
  const name = `${SYLLABLES[failure % length]}${SYLLABLES[Math.floor(failure / length) % length]}`;
  return `${failure === HOPELESS ? HOPELESS_WORDS : `${name} is broken`}${' again'.repeat(wave)}`;
}

/** A job, as the server shows it. */
export interface Try {
  readonly id: string;
  readonly state: string;
  readonly title?: string;
  readonly description?: string;
  readonly params?: unknown;
  readonly retryOf?: string;
  readonly comments: readonly { readonly text: string }[];
}

export interface Story {
  /** The ids of the tasks that were made. */
  readonly roots: readonly string[];
  readonly jobs: readonly Try[];
  /** For each line that was made for the chat, the job it is about. */
  readonly lines: readonly string[];
  /** Waves of hopeless tasks whose question was heard twice and answered to nobody: they may be tried again without advice. */
  readonly doubted: readonly number[];
  /** What the chat has shown, message by message. */
  readonly told: readonly string[];
}

export function checkStory(story: Story): string[] {
  return [...checkRetries(story), ...checkLines(story), ...checkTold(story)];
}

/** Follows each task from its first try to its last. */
function checkRetries({ roots, jobs, doubted }: Story): string[] {
  const found: string[] = [];
  const byId = new Map(jobs.map((job) => [job.id, job]));
  const followers = Map.groupBy(
    jobs.filter(({ retryOf }) => retryOf !== undefined),
    ({ retryOf = '' }) => retryOf,
  );
  let seen = 0;
  for (const root of roots) {
    const chain: Try[] = [];
    for (let next = byId.get(root); next !== undefined; ) {
      chain.push(next);
      const after: readonly Try[] = followers.get(next.id) ?? [];
      if (after.length > 1) found.push(`${next.id} was retried ${after.length} times`);
      next = after[0];
    }
    seen += chain.length;
    found.push(...chainProblems(chain, doubted).map((what) => `${root} ${what}`));
  }
  if (seen !== jobs.length) found.push(`${jobs.length - seen} jobs belong to no task`);
  return found;
}

function chainProblems(chain: readonly Try[], doubted: readonly number[]): string[] {
  const [root] = chain;
  const isDoubted = doubted.includes(paramsOf(root).wave ?? 0);
  const hopeless = paramsOf(root).failure === HOPELESS && (!isDoubted || isSkipped(chain.at(-1)));
  const length = !hopeless ? MAX_RETRIES + 1 : isDoubted ? Math.min(chain.length, MAX_RETRIES + 1) : 1;
  const wrong: string[] = [];
  if (chain.length !== length)
    wrong.push(
      `has ${chain.length} tries, not ${length}, and the last was told: ${chain.at(-1)?.description}`,
    );
  for (const [i, { state, title, comments }] of chain.entries()) {
    const isLast = i === chain.length - 1;
    const wanted = isLast && !hopeless ? 'dead' : 'failed';
    if (state !== wanted) wrong.push(`is ${state} at its try ${i}, not ${wanted}`);
    if (title !== `${root?.title}${i === 0 ? '' : ` (retry ${i})`}`) wrong.push(`is called ${title}`);
    const said = comments.map(({ text }) => text).join(' | ');
    const due = isLast ? (hopeless ? 'No retry: there is no such ticker' : '') : `Retry #${i + 1} created`;
    if (said !== due) wrong.push(`says "${said}" at its try ${i}`);
  }
  return wrong;
}

/** Of each try its end, of each retry that it began, and of what is given up why: each line was made once. */
function checkLines({ jobs, lines }: Story): string[] {
  const made = Map.groupBy(lines, (id) => id);
  return jobs.flatMap((job) => {
    const due = 1 + (job.retryOf === undefined ? 0 : 1) + (isSkipped(job) ? 1 : 0);
    const count = made.get(job.id)?.length ?? 0;
    return count === due ? [] : [`${job.id} has ${count} lines for the chat, not ${due}`];
  });
}

/** Telegram may be told once more what it was told when the server died; else all that is due is told, and nothing beside it. */
function checkTold({ jobs, told }: Story): string[] {
  const retried = new Set(jobs.flatMap(({ retryOf }) => retryOf ?? []));
  const due = new Set(jobs.flatMap((job) => dueLines(job, retried.has(job.id))));
  // Each call of a worker has a number of its own.
  const seen = new Set(
    told.flatMap((text) => text.split('\n')).map((line) => line.replace(/ \(request \d+\)/, '')),
  );
  return [
    ...[...due].filter((line) => !seen.has(line)).map((line) => `nobody was told: ${line}`),
    ...[...seen].filter((line) => !due.has(line)).map((line) => `people were told: ${line}`),
  ];
}

const NEEDED = 'Needs human attention';

/** What people are told of a try: that it is one, and how it ended. */
function dueLines(job: Try, isRetried: boolean): string[] {
  const { title = '', state, retryOf } = job;
  const [, base = title, retry = ''] = /^(.*) \(retry (\d+)\)$/.exec(title) ?? [];
  const begun = retryOf === undefined ? [] : [`Retry ${retry}/${MAX_RETRIES}: ${base} back in queue.`];
  if (state === 'dead') return [...begun, `${title} failed after ${MAX_RETRIES} attempts. ${NEEDED}.`];
  const { failure = 0, wave = 0 } = paramsOf(job);
  const failed = `${title} failed. Reason: ${wordsOf(failure, wave)}. Retry: ${isRetried ? 'yes' : 'no'}`;
  const skipped = `${base} will not be retried: there is ${HOPELESS_WORDS}. ${NEEDED}.`;
  return [...begun, failed, ...(isSkipped(job) ? [skipped] : [])];
}

/** Whether it has ended for good: no retry of it will come any more. */
export function isOver(job: Try, retried: ReadonlySet<string>): boolean {
  return job.state === 'dead' || (job.state === 'failed' && (retried.has(job.id) || isSkipped(job)));
}

function isSkipped(job: Try | undefined): boolean {
  return job?.comments.some(({ text }) => text.startsWith('No retry: ')) ?? false;
}

function paramsOf(job: Try | undefined): { readonly failure?: number; readonly wave?: number } {
  return job?.params ?? {};
}
