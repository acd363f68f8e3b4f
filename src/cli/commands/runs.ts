/** `spine runs …`: what schedules made. */

import type { Run, RunStatus, SpineClient } from '../../client/index.ts';
import type { Handler } from '../command.ts';
import type { Session } from '../session.ts';
import { jobRef, jobRefs } from './job-ref.ts';
import { runDetails, runLine, runTable } from './schedule-lines.ts';
import { given } from './values.ts';

interface ListOptions {
  readonly status?: RunStatus;
  readonly before?: number;
  readonly limit: number;
}

export const listRuns: Handler<ListOptions> = async (session, { options }) => {
  const client = await session.client();
  const { status, before, limit } = options;
  const page = await client.runs.list(given({ status, before, limit }));
  await print(session, client, page.runs, page, () =>
    session.none(`No runs. Make one with: ${session.words.program} ${session.words.schedule}s run`),
  );
  if (page.next_before !== null && !session.out.json)
    session.out.info(`There may be more: --before ${page.next_before}.`);
};

export const staleRuns: Handler<{ readonly threshold?: number; readonly limit: number }> = async (
  session,
  { options },
) => {
  const client = await session.client();
  const threshold_s = options.threshold === undefined ? undefined : Math.ceil(options.threshold / 1_000);
  const runs = await client.runs.stale(given({ threshold_s, limit: options.limit }));
  await print(session, client, runs, { runs }, () => session.out.info('No run is stale.'));
};

async function print(
  session: Session,
  client: SpineClient,
  runs: readonly Run[],
  value: object,
  sayNone: () => void,
): Promise<void> {
  const names = session.out.json || runs.length === 0 ? new Map<string, string>() : await namesOf(client);
  session.out.result({
    value,
    lines: () => {
      if (runs.length > 0) return runTable(runs, names, session);
      sayNone();
      return [];
    },
    ids: () => runs.map(({ id }) => id),
  });
}

/** One page is enough: a schedule without a name is shown by its id. */
async function namesOf(client: SpineClient): Promise<Map<string, string>> {
  const { schedules } = await client.schedules.listPage({ limit: 1_000 });
  return new Map(schedules.map(({ id, name }) => [id, name]));
}

/** With `prompt`, what its agent saw and nothing else. */
export const getRun: Handler<{ readonly prompt?: boolean }> = async (
  session,
  { args: [name = ''], options },
) => {
  const client = await session.client();
  const id = await jobRef(client, name);
  if (options.prompt) {
    const sent = await client.runs.prompt(id);
    const lines = (): string[] => sent.prompt.split('\n');
    return session.out.result({ value: sent, lines, ids: () => [sent.run_id] });
  }
  const run = await client.runs.get(id);
  session.out.result({ value: run, lines: () => runDetails(run, session), ids: () => [run.id] });
};

export const cancelRuns: Handler<{ readonly reason?: string }> = async (session, { args, options }) => {
  const client = await session.client();
  for (const ref of await jobRefs(client, args)) {
    const run = await client.runs.cancel(ref, given({ reason: options.reason }));
    const did = run.status === 'running' ? 'asked to stop' : 'cancelled';
    const lines = (): ReturnType<typeof runLine>[] => [runLine(run, did)];
    if (args.length === 1 || !session.out.json)
      session.out.result({ value: run, lines, ids: () => [run.id] });
    else session.out.record(run, lines);
  }
};
