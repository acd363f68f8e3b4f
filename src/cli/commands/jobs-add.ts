import type { Job, NewJob, SpineClient } from '../../client/index.ts';
import type { Handler } from '../command.ts';
import { usage } from '../failure.ts';
import { JOB_OPTIONS } from '../job-options.ts';
import type { Session } from '../session.ts';
import { fieldOptions } from './field-options.ts';
import { jobLine } from './job-lines.ts';
import { jobRefs } from './job-ref.ts';
import { waitForAll } from './jobs-wait.ts';
import { fileText, given, json, parsed, readStdin, textOrJson } from './values.ts';

interface Options {
  readonly type?: string;
  readonly newType?: true;
  readonly title?: string;
  readonly description?: string;
  readonly params?: string;
  readonly meta?: string;
  readonly tag?: readonly string[];
  readonly retries?: number;
  readonly backoff?: number;
  readonly after?: readonly string[];
  readonly parent?: string;
  readonly approval?: true;
  readonly file?: string;
  readonly idempotencyKey?: string;
  readonly wait?: boolean;
  readonly timeout?: number;
}

/** The server's limit for one call. */
const BATCH = 1_000;

export const addJobs: Handler<Options> = async (session, { args: [spec], options }) => {
  const { file } = options;
  if (file !== undefined && spec !== undefined) throw usage('Write what to do, or name a --file, not both.');
  const isBare = spec === undefined && file === undefined;
  if (isBare && options.type === undefined && options.title === undefined && !options.params)
    throw usage(
      'There is nothing to do in this job.',
      'Write what to do, a --type, or - for standard input.',
    );
  const client = await session.client();
  const fields = await fieldsOf(session, client, options);
  const { jobs, many } =
    file !== undefined
      ? jobsIn(await fileText(session, file), file)
      : spec === '-'
        ? jobsIn(await readStdin(session), 'Standard input')
        : await one(session, spec);
  const made = await create(
    client,
    jobs.map((job) => ({ ...fields, ...job })),
    options.idempotencyKey,
  );
  if (options.wait)
    return await waitForAll(
      session,
      client,
      made.map(({ id }) => id),
      options.timeout ?? null,
    );
  session.out.result({
    value: many ? { jobs: made } : made[0],
    lines: () => made.map((job) => jobLine(job, 'created')),
    ids: () => made.map(({ id }) => id),
  });
};

interface Wanted {
  readonly jobs: readonly NewJob[];
  readonly many: boolean;
}

async function one(session: Session, spec: string | undefined): Promise<Wanted> {
  return { jobs: [given({ spec: await textOrJson(session, spec) })], many: false };
}

/** A job, a list of jobs, or one job on each line. */
function jobsIn(text: string, name: string): Wanted {
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  if (lines.length === 0) throw usage(`${name} is empty.`, 'Write a job as JSON.');
  if (lines.length > 1 && lines.every((line) => line.startsWith('{') && line.trimEnd().endsWith('}')))
    return { jobs: lines.map((line, index) => asJob(parsed(line, `Line ${index + 1}`), name)), many: true };
  const value = parsed(text, name);
  return Array.isArray(value)
    ? { jobs: value.map((job) => asJob(job, name)), many: true }
    : { jobs: [asJob(value, name)], many: false };
}

function asJob(value: unknown, name: string): NewJob {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value;
  throw usage(`${name} must be a job as JSON object, a list of jobs, or one job on each line.`);
}

async function fieldsOf(session: Session, client: SpineClient, options: Options): Promise<NewJob> {
  const { type, newType, title, description, tag } = options;
  return {
    ...fieldOptions(session, JOB_OPTIONS, options),
    ...given({
      type,
      newType,
      title,
      description,
      tags: tag,
      params: await json(session, options.params, '--params'),
      meta: await json(session, options.meta, '--meta'),
      retry: retryOf(options),
      approval: options.approval && {},
      parentId: options.parent && (await jobIds(client, [options.parent]))[0],
      after: options.after && (await jobIds(client, options.after)),
    }),
  };
}

function retryOf({ retries, backoff }: Options): NewJob['retry'] {
  const retry = given({ max: retries, backoffMs: backoff });
  return Object.keys(retry).length === 0 ? undefined : retry;
}

/** A dependency is named by its id alone. */
async function jobIds(client: SpineClient, texts: readonly string[]): Promise<string[]> {
  const refs = await jobRefs(client, texts);
  return await Promise.all(refs.map(async (ref) => (await client.jobs.get(ref)).id));
}

async function create(
  client: SpineClient,
  jobs: readonly NewJob[],
  idempotencyKey: string | undefined,
): Promise<readonly Job[]> {
  const [first, ...others] = jobs;
  if (first === undefined) throw usage('There are no jobs in this list.');
  const key = given({ idempotencyKey });
  if (others.length === 0) return [await client.jobs.create(first, key)];
  if (idempotencyKey !== undefined && jobs.length > BATCH)
    throw usage(`With --idempotency-key at most ${BATCH} jobs can be created at once.`);
  const made: Job[] = [];
  for (let from = 0; from < jobs.length; from += BATCH)
    made.push(...(await client.jobs.createBatch(jobs.slice(from, from + BATCH), key)));
  return made;
}
