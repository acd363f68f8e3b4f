import type { JobEvent } from '../../client/index.ts';
import type { Handler } from '../command.ts';
import { type Line, styled } from '../text/line.ts';
import { relative } from '../text/times.ts';
import { jobDetails } from './job-details.ts';
import { jobRef } from './job-ref.ts';

export const getJob: Handler<{ readonly events?: boolean }> = async (
  session,
  { args: [name = ''], options },
) => {
  const client = await session.client();
  const job = await client.jobs.get(await jobRef(client, name));
  const events: JobEvent[] | null = options.events ? [] : null;
  if (events) for await (const event of client.jobs.events(job.id)) events.push(event);
  session.out.result({
    value: events === null ? job : { ...job, events },
    lines: () => [
      ...jobDetails(job, session.now()),
      ...(events ?? []).map((event) => eventLine(event, session.now())),
    ],
    ids: () => [job.id],
  });
};

const SHOWN_CHARS = 200;

/** An event with its facts; also what `events tail` prints. */
export function eventLine(event: JobEvent, nowMs: number, job = ''): Line {
  const { t, type, by, seq: _, ...facts } = event;
  const text = JSON.stringify(facts);
  const shown = text.length > SHOWN_CHARS ? `${text.slice(0, SHOWN_CHARS)}…` : text;
  const time = nowMs === 0 ? t : relative(t, nowMs).padEnd(8);
  return [
    styled('dim', time),
    ` ${job}`,
    styled('bold', type),
    ` by ${by}`,
    text === '{}' ? '' : ` ${shown}`,
  ];
}
