/** Verbs on all jobs that fit a filter. Whoever interrupts this calls off what has not been done. */

import type { Bulk, BulkAction, BulkFilter, SpineClient, State } from '../../client/index.ts';
import type { Handler } from '../command.ts';
import { CliError, EXIT, usage } from '../failure.ts';
import { JOB_FILTERS } from '../job-options.ts';
import { statusLine } from '../progress.ts';
import type { Session } from '../session.ts';
import { confirm } from './confirm.ts';
import { fieldOptions } from './field-options.ts';
import { given } from './values.ts';

interface Options {
  readonly state?: State;
  readonly target?: string;
  readonly type?: string;
  readonly tag?: string;
  readonly search?: string;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
}

const LOOK_MS = 200;

export const bulkJobs: Handler<Options> = async (session, { args: [word = ''], options }) => {
  // The command takes no other word.
  const action = word as BulkAction;
  const filter = filterOf(session, options);
  if (Object.keys(filter).length === 0)
    throw usage('Which jobs?', 'Name at least one of --state, --target, --type, --tag, --search.');
  const client = await session.client();
  const count = await client.jobs.bulkCount(action, filter);
  const jobs = `${count.toLocaleString('en')} ${count === 1 ? 'job' : 'jobs'}`;
  if (options.dryRun || count === 0)
    return session.out.result({
      value: { action, count, dryRun: true },
      lines: () => [`${jobs} would be looked at to ${action}.`],
      ids: () => [],
    });
  await confirm(session, `${action} ${jobs}?`, options.yes);
  const ended = await followed(session, client, await client.jobs.bulk(action, filter));
  const refused = ended.refused === 0 ? '' : `, ${ended.refused.toLocaleString('en')} refused`;
  session.out.result({
    value: ended,
    lines: () => [`${action}: ${ended.changed.toLocaleString('en')} changed${refused}.`],
    ids: () => [ended.id],
  });
  if (ended.state === 'cancelled')
    throw new CliError(EXIT.failure, 'cancelled', 'It was called off before it came to its end.');
};

function filterOf(session: Session, { state, target, type, tag, search, ...rest }: Options): BulkFilter {
  return { ...fieldOptions(session, JOB_FILTERS, rest), ...given({ state, target, type, tag, q: search }) };
}

async function followed(session: Session, client: SpineClient, begun: Bulk): Promise<Bulk> {
  const line = statusLine(session);
  try {
    for (let bulk = begun; ; bulk = await client.jobs.bulkStatus(begun.id)) {
      if (bulk.state !== 'running') return bulk;
      line.show(`${bulk.changed + bulk.refused} of ${bulk.count}`);
      await session.sleep(LOOK_MS);
    }
  } catch (error) {
    // The server would go on by itself.
    if (session.signal.aborted) await client.jobs.cancelBulk(begun.id);
    throw error;
  } finally {
    line.end();
  }
}
