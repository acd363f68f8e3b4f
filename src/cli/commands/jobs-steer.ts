/** What a person does to jobs from outside. */

import type { Job, JobChange, SpineClient } from '../../client/index.ts';
import type { Handler } from '../command.ts';
import type { Session } from '../session.ts';
import { JOB_CHANGES } from '../job-options.ts';
import { fieldOptions, longFlag } from './field-options.ts';
import { confirm } from './confirm.ts';
import { jobLine } from './job-lines.ts';
import { jobRef, jobRefs } from './job-ref.ts';
import { usage } from '../failure.ts';
import { given, json, readStdin } from './values.ts';

interface CancelOptions {
  readonly reason?: string;
  readonly yes?: boolean;
}

export const cancelJobs: Handler<CancelOptions> = async (session, { args, options }) => {
  const client = await session.client();
  const ids = await jobRefs(client, args);
  if (ids.length > 1) await confirm(session, `Cancel ${ids.length} jobs?`, options.yes);
  await each(session, ids, 'cancelled', (id) => client.jobs.cancel(id, given({ reason: options.reason })));
};

interface ChangeOptions {
  readonly params?: string;
  readonly tag?: readonly string[];
}

export const changeJobs: Handler<ChangeOptions> = async (session, { args, options }) => {
  const { params, tag: tags } = options;
  const change: JobChange = {
    ...fieldOptions(session, JOB_CHANGES, options),
    ...given({ tags, params: await json(session, params, '--params') }),
  };
  if (Object.keys(change).length === 0)
    throw usage(
      'There is nothing to change.',
      `Say ${JOB_CHANGES.map(longFlag).join(', ')}, --params or --tag.`,
    );
  const client = await session.client();
  await each(session, await jobRefs(client, args), 'changed', (id) => client.jobs.change(id, change));
};

export const removeJobs: Handler<Pick<CancelOptions, 'yes'>> = async (session, { args, options }) => {
  const client = await session.client();
  const ids = await jobRefs(client, args);
  await confirm(
    session,
    `Remove ${ids.length === 1 ? 'the job' : `${ids.length} jobs`} for ever?`,
    options.yes,
  );
  for (const ref of ids) {
    const { id, no } = await client.jobs.get(ref);
    await client.jobs.remove(id);
    const value = { id, removed: true };
    const print = { value, lines: () => [`#${no}  removed`], ids: () => [id] };
    if (ids.length === 1 || !session.out.json) session.out.result(print);
    else session.out.record(value, () => []);
  }
};

export const retryJobs: Handler = async (session, { args }) => {
  const client = await session.client();
  await each(session, await jobRefs(client, args), 'reopened', (id) => client.jobs.retry(id));
};

export const redriveJobs: Handler = async (session, { args }) => {
  const client = await session.client();
  await each(session, await jobRefs(client, args), 'redriven', (id) => client.jobs.redrive(id));
};

export const commentOnJob: Handler = async (session, { args: [name = '', given = ''] }) => {
  const client: SpineClient = await session.client();
  const text = given === '-' ? (await readStdin(session)).trim() : given;
  const job = await client.jobs.comment(await jobRef(client, name), text);
  session.out.result({ value: job, lines: () => [jobLine(job, 'commented')], ids: () => [job.id] });
};

/** One job is answered as itself, several one after another; the first refusal ends it. */
async function each(
  session: Session,
  ids: readonly string[],
  did: string,
  act: (id: string) => Promise<Job>,
): Promise<void> {
  for (const id of ids) {
    const job = await act(id);
    const print = { value: job, lines: () => [jobLine(job, didTo(job, did))], ids: () => [job.id] };
    if (ids.length === 1 || !session.out.json) session.out.result(print);
    else session.out.record(job, () => []);
  }
}

function didTo(job: Job, did: string): string {
  return job.cancelRequested ? 'asked to stop' : did;
}
