import type { Job, JobFilter, JobPage, SpineClient, State } from '../../client/index.ts';
import type { Handler } from '../command.ts';
import { usage } from '../failure.ts';
import type { Session } from '../session.ts';
import { JOB_FILTERS } from '../job-options.ts';
import { jobTable } from './job-lines.ts';
import { fieldOptions } from './field-options.ts';
import { given } from './values.ts';

interface Options {
  readonly state?: State;
  readonly target?: string;
  readonly type?: string;
  readonly tag?: string;
  readonly search?: string;
  readonly oldest?: boolean;
  readonly limit: number;
  readonly cursor?: string;
  readonly all?: boolean;
}

const PAGE = 1_000;

export const listJobs: Handler<Options> = async (session, { options }) => {
  if (options.limit < 1 || options.limit > PAGE)
    throw usage(`--limit must be from 1 to ${PAGE}.`, 'Use --all for everything.');
  const client = await session.client();
  if (options.all) return await listAll(session, client, options);
  const page = await client.jobs.listPage(filterOf(session, options, options.limit), options.cursor);
  session.out.result({
    value: page,
    lines: () => pageLines(session, page),
    ids: () => page.jobs.map(({ id }) => id),
  });
  if (page.nextCursor !== null && !session.out.json)
    session.out.info(`There may be more: --cursor ${page.nextCursor}, or --all.`);
};

function pageLines(session: Session, { jobs }: JobPage): ReturnType<typeof jobTable> {
  if (jobs.length === 0) {
    session.none('No jobs. Create one with: npx spine jobs add "Say hello"');
    return [];
  }
  return jobTable(jobs, session.now(), session.out.columns);
}

/** One JSON line for each job; people get a table for each page. */
async function listAll(session: Session, client: SpineClient, options: Options): Promise<void> {
  const { out } = session;
  let cursor = options.cursor;
  do {
    const page = await client.jobs.listPage(filterOf(session, options, PAGE), cursor, {
      signal: session.signal,
    });
    if (out.json) page.jobs.forEach((job) => out.record(job, () => []));
    else out.result({ value: null, lines: () => pageLines(session, page), ids: () => idsOf(page.jobs) });
    cursor = page.nextCursor ?? undefined;
  } while (cursor !== undefined);
}

function idsOf(jobs: readonly Job[]): string[] {
  return jobs.map(({ id }) => id);
}

function filterOf(session: Session, options: Options, limit: number): JobFilter {
  const { state, target, type, tag, search, oldest } = options;
  const order = oldest ? ('oldest' as const) : ('newest' as const);
  return {
    ...fieldOptions(session, JOB_FILTERS, options),
    ...given({ state, target, type, tag, q: search, order, limit }),
  };
}
