/** What a worker does: claim, heartbeat, and the calls that end a claim. */

import type { Held, Job, SpineClient } from '../../client/index.ts';
import type { Handler } from '../command.ts';
import { CliError, EXIT, usage } from '../failure.ts';
import type { TokenRole } from '../host.ts';
import type { Session } from '../session.ts';
import type { Line } from '../text/line.ts';
import { jobDetails } from './job-details.ts';
import { fact, jobLine } from './job-lines.ts';
import { jobRef } from './job-ref.ts';
import { SilentExit } from './silent-exit.ts';
import { given, json, moment, textOrJson } from './values.ts';

interface ClaimOptions {
  readonly target?: readonly string[];
  readonly type?: readonly string[];
  readonly capability?: readonly string[];
  readonly max?: number;
  readonly wait?: number;
  readonly lease?: number;
}

const LONGEST_WAIT_MS = 60_000;

export const claimJobs: Handler<ClaimOptions> = async (session, { args: [name], options }) => {
  const { target, type, capability, max, wait = 0, lease } = options;
  const terms = given({ leaseMs: lease, capabilities: capability });
  if (wait > LONGEST_WAIT_MS) throw usage('--wait must be at most 60s.', 'Ask again after that.');
  const client = await session.client(workerRoles(target));
  const jobs =
    name === undefined
      ? await client.jobs.claimNext(
          { ...terms, ...given({ targets: target, types: type, max, waitMs: wait }) },
          { signal: session.signal },
        )
      : [await client.jobs.claim(await jobRef(client, name), terms)];
  session.out.result({
    value: { jobs },
    lines: () => jobs.flatMap((job) => jobDetails(job, session.now())),
    ids: () => jobs.map(({ id }) => id),
  });
  if (jobs.length === 0) throw nothing(session, wait);
};

/** A claim is a worker's call: with the tokens of this machine, that of the claw that it is for. */
function workerRoles(targets: readonly string[] = []): readonly TokenRole[] {
  return targets.includes('right-claw') ? ['right-claw'] : ['left-claw', 'right-claw'];
}

/** As JSON the empty list has said it. */
function nothing(session: Session, waitMs: number): Error {
  const [exitCode, message] =
    waitMs > 0 ? ([EXIT.timeout, 'No job came.'] as const) : ([EXIT.notFound, 'No job is ready.'] as const);
  if (session.out.json) return new SilentExit(exitCode);
  return new CliError(exitCode, 'no_job', message);
}

interface HoldOptions {
  readonly leaseToken?: string;
}

/** With the lease token any token may speak for the holder; without one the head steps in. */
async function held(
  session: Session,
  name: string,
  options: HoldOptions,
): Promise<{ client: SpineClient; job: Held }> {
  const client = await session.client();
  const id = await jobRef(client, name);
  return { client, job: { id, ...given({ leaseToken: options.leaseToken }) } };
}

function did(session: Session, job: Job, verb: string, ...more: Line[]): void {
  session.out.result({ value: job, lines: () => [jobLine(job, verb), ...more], ids: () => [job.id] });
}

export const beat: Handler<HoldOptions & { readonly progress?: string }> = async (
  session,
  { args: [name = ''], options },
) => {
  const { client, job } = await held(session, name, options);
  const progress = await textOrJson(session, options.progress);
  const after = await client.jobs.heartbeat(job, given({ progress }));
  did(session, after, 'renewed');
  if (after.cancelRequested) session.out.info('Somebody asked for this job to stop.');
};

export const completeJob: Handler<HoldOptions> = async (session, { args: [name = '', text], options }) => {
  const { client, job } = await held(session, name, options);
  const result = await textOrJson(session, text);
  did(session, await client.jobs.complete(job, given({ result })), 'completed');
};

export const failJob: Handler<
  HoldOptions & { readonly requeue: boolean; readonly backoff?: boolean }
> = async (session, { args: [name = '', text], options }) => {
  const { client, job } = await held(session, name, options);
  const error = await textOrJson(session, text);
  const { requeue, backoff } = options;
  did(session, await client.jobs.fail(job, { ...given({ error, backoff }), requeue }), 'failed');
};

export const releaseJob: Handler<HoldOptions & { readonly reason?: string }> = async (
  session,
  { args: [name = ''], options },
) => {
  const { client, job } = await held(session, name, options);
  did(session, await client.jobs.release(job, given({ reason: options.reason })), 'released');
};

export const snoozeJob: Handler<HoldOptions & { readonly until: string }> = async (
  session,
  { args: [name = ''], options },
) => {
  const untilAt = moment(session, options.until, '--until');
  const { client, job } = await held(session, name, options);
  did(session, await client.jobs.snooze(job, untilAt), 'snoozed');
};

interface AskOptions extends HoldOptions {
  readonly to: string;
  readonly choice?: readonly string[];
  readonly schema?: string;
  readonly timeout: number;
  readonly default?: string;
}

export const askInJob: Handler<AskOptions> = async (
  session,
  { args: [name = '', question = ''], options },
) => {
  const { to, choice: choices, timeout: timeoutMs } = options;
  const schema = await json(session, options.schema, '--schema');
  // What is to be chosen is text, also where it reads as JSON.
  const fallback = choices === undefined ? await textOrJson(session, options.default) : options.default;
  const { client, job } = await held(session, name, options);
  const asked = { question, to, timeoutMs, ...given({ choices, schema, default: fallback }) };
  const after = await client.jobs.ask(job, asked);
  did(session, after, 'asked', ...(after.asked === undefined ? [] : [fact('question', after.asked.id)]));
};

export const keepCheckpoint: Handler<HoldOptions> = async (
  session,
  { args: [name = '', text = ''], options },
) => {
  const { client, job } = await held(session, name, options);
  const value = await textOrJson(session, text);
  const checkpoint = typeof value === 'string' ? { text: value } : { data: value };
  did(session, await client.jobs.checkpoint(job, checkpoint), 'kept');
};
