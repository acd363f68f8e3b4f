/** GET /events: everything that happens, as it happens, and from any place on. */

import type { Static } from 'typebox';
import type { Actor } from '../../../domain/command.ts';
import { SpineError } from '../../../domain/error.ts';
import { serves } from '../../../domain/lease.ts';
import { FeedEvent as FeedEventAnswer } from './answers.ts';
import { isStill } from '../../auth.ts';
import type { FeedEvent } from '../../events/burst.ts';
import { fullId } from '../../job-id.ts';
import { type FeedPlace, isAfter, placeFrom, placeText } from '../../events/feed-place.ts';
import { type Call, route, type Route } from '../../routes.ts';
import { SECURITY_HEADERS } from '../../security.ts';
import { EventsQuery, FeedHeaders } from './schemas.ts';

type Query = Static<typeof EventsQuery>;

const STREAM_TYPE = 'text/event-stream; charset=utf-8';

export const eventRoutes: readonly Route[] = [
  route({
    method: 'GET',
    path: '/events',
    name: 'followEvents',
    load: 'stream',
    about:
      'Follow what happens to all jobs, from now on or from any event on. A worker sees its own targets.',
    who: ['head', 'worker', 'viewer'],
    headers: FeedHeaders,
    query: EventsQuery,
    answer: FeedEventAnswer,
    media: STREAM_TYPE,
    errors: ['not_found', 'forbidden', 'overloaded'],
    handle: follow,
  }),
];

async function follow(call: Call<unknown, Query>): Promise<object> {
  const { request, reply, actor, callers } = call;
  const { streams } = call.parts;
  const wants = await eventFilter(call);
  const end = await call.engine.jobs.feedEnd();
  const asked = placeAsked(call);
  // Behind the end there is nothing: this database was restored from a backup that is older than the reader.
  const isBeyond = asked !== null && isAfter(asked, end);
  const place = asked === null || isBeyond ? end : asked;
  streams.admitOne();
  reply.hijack();
  const { raw } = reply;
  // A hijacked reply sends none of the headers that the guard has set.
  raw.writeHead(200, { ...SECURITY_HEADERS, 'content-type': STREAM_TYPE, 'x-accel-buffering': 'no' });
  if (request.method === 'HEAD') {
    raw.end();
    return reply;
  }
  streams.open({
    raw,
    place,
    wants,
    comment: isBeyond ? `the feed ends at ${placeText(end)}; following from there` : '',
    isStillAllowed: () => isStill(actor, callers, request.raw),
  });
  return reply;
}

/** A reader that comes back says in the header how far it got; its URL still says where it once began. */
function placeAsked({ request, query }: Call<unknown, Query>): FeedPlace | null {
  const header = request.headers['last-event-id'];
  if (typeof header === 'string' && header !== '') return placeFrom(header, 'Last-Event-ID');
  return query.after === undefined ? null : placeFrom(query.after, 'after');
}

async function eventFilter({
  engine,
  actor,
  query,
}: Call<unknown, Query>): Promise<(event: FeedEvent) => boolean> {
  const types = query.type === undefined ? null : new Set<string>(query.type.split(','));
  const targets = targetsOf(actor, query.target);
  const jobId =
    query.jobId === undefined
      ? null
      : (await engine.jobs.get(actor, await fullId(engine, actor, query.jobId))).id;
  return ({ kind, target, jobId: id }) =>
    (types === null || types.has(kind)) &&
    (targets === null || targets.has(target)) &&
    (jobId === null || jobId === id);
}

function targetsOf(actor: Actor, asked: string | undefined): ReadonlySet<string> | null {
  if (asked === undefined) return actor.targets === null ? null : new Set(actor.targets);
  const targets = asked.split(',');
  const foreign = targets.find((target) => !serves(actor, target));
  if (foreign !== undefined) throw new SpineError('forbidden', { target: foreign });
  return new Set(targets);
}
