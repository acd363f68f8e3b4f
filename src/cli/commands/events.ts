import type { FeedEvent, JobEvent } from '../../client/index.ts';
import type { Handler } from '../command.ts';
import type { Line } from '../text/line.ts';
import { jobRef } from './job-ref.ts';
import { eventLine } from './jobs-get.ts';
import { given } from './values.ts';

interface Options {
  readonly target?: readonly string[];
  readonly kind?: readonly string[];
  readonly job?: string;
  readonly after?: string;
  readonly limit?: number;
}

export const tailEvents: Handler<Options> = async (session, { options }) => {
  const client = await session.client();
  // The feed waits for a server that is away; at the start that would be waiting for nothing.
  await client.stats();
  const jobId = options.job === undefined ? undefined : await jobRef(client, options.job);
  const filter = given({ target: options.target?.join(','), type: options.kind?.join(','), jobId });
  const begin = given({ lastEventId: options.after });
  let left = options.limit ?? Infinity;
  if (left <= 0) return;
  if (options.limit === undefined) session.out.info('Waiting for events; Ctrl-C ends this.');
  for await (const event of client.events({ ...begin, filter, signal: session.signal })) {
    session.out.record(asRecord(event), () => [feedLine(event)]);
    left -= 1;
    if (left === 0) return;
  }
};

/** The place of the event comes first: it is what --after takes. */
function asRecord({ id, data }: FeedEvent): object {
  return { id, ...(data as object) };
}

function feedLine({ data }: FeedEvent): Line {
  const { jobId: _, no, target, ...event } = data as JobEvent & { jobId: string; no: number; target: string };
  return eventLine(event, 0, `#${no} ${target} `);
}
