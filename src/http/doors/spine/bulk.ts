/** Verbs on all jobs that fit a filter: asked for here, done by a loop, and looked at meanwhile. */

import type { Static } from 'typebox';
import { BULK_ACTIONS, type Bulk } from '../../../domain/bulk.ts';
import { SpineError } from '../../../domain/error.ts';
import { LIMITS } from '../../../domain/limits.ts';
import type { BulkDraft } from '../../../engine/engine.ts';
import { fields, NoFields, optional } from '../../fields.ts';
import { iso } from '../../iso.ts';
import { route, type Route } from '../../routes.ts';
import { Type } from '../../typebox.ts';
import { BulkAnswer, BulkList } from './answers.ts';
import { filterOf, ListQuery, statesOf } from './list.ts';
import { Name } from './schemas.ts';

const { order: _order, cursor: _cursor, limit: _limit, ...LIST_FILTER } = ListQuery.properties;
const BulkBody = fields({
  action: Type.Enum([...BULK_ACTIONS]),
  filter: { ...fields(LIST_FILTER), description: 'which jobs, as GET /jobs is asked; at least one of these' },
  dryRun: optional(Type.Boolean({ description: 'only count them' })),
});
type BulkRequest = Static<typeof BulkBody>;

const HEAD = ['head'] as const;
const SEEING = ['head', 'viewer'] as const;
const BulkParams = Type.Object({ bulk: Name });

export const bulkRoutes: readonly Route[] = [
  route({
    method: 'POST',
    path: '/jobs/bulk',
    name: 'startBulk',
    about:
      'Retry, cancel, redrive or delete all jobs that fit a filter, a few at a time; with dryRun they are only counted.',
    who: HEAD,
    body: BulkBody,
    answer: BulkAnswer,
    errors: ['conflict', 'overloaded'],
    handle: async ({ engine, actor, body }) => {
      const draft = draftOf(body);
      if (body.dryRun !== true) return bulkView(await engine.bulks.start(actor, draft));
      return { action: draft.action, count: await engine.bulks.count(actor, draft), dryRun: true };
    },
  }),
  route({
    method: 'GET',
    path: '/bulks',
    name: 'listBulks',
    about: 'The newest calls for all jobs that fit a filter, and how far each is.',
    who: SEEING,
    answer: BulkList,
    handle: async ({ engine, actor }) => ({
      bulks: (await engine.bulks.list(actor, LIMITS.bulksShown)).map(bulkView),
    }),
  }),
  route({
    method: 'GET',
    path: '/bulks/:bulk',
    name: 'getBulk',
    about: 'How far such a call is.',
    who: SEEING,
    params: BulkParams,
    answer: BulkAnswer,
    errors: ['not_found'],
    handle: async ({ engine, actor, params: { bulk = '' } }) => bulkView(await engine.bulks.get(actor, bulk)),
  }),
  route({
    method: 'POST',
    path: '/bulks/:bulk/cancel',
    name: 'cancelBulk',
    about: 'Go no further. What was done stays done.',
    who: HEAD,
    params: BulkParams,
    body: NoFields,
    answer: BulkAnswer,
    errors: ['not_found'],
    handle: async ({ engine, actor, params: { bulk = '' } }) =>
      bulkView(await engine.bulks.cancel(actor, bulk)),
  }),
];

function draftOf({ action, filter }: BulkRequest): BulkDraft {
  // An empty one may be a slip, and would be everything.
  if (Object.keys(filter).length === 0) {
    const message = `filter must name at least one of ${Object.keys(LIST_FILTER).join(', ')}.`;
    throw new SpineError('bad_request', { field: 'filter' }, { message });
  }
  const { q, state, status } = filter;
  const states = state === undefined && status === undefined ? {} : { states: statesOf(filter) };
  return { action, filter: { ...filterOf(filter), ...states, ...(q !== undefined && { words: q }) } };
}

function bulkView({ id, action, state, count, changed, refused, ...rest }: Bulk): object {
  const { createdAt, createdBy, endedAt } = rest;
  return {
    id,
    action,
    state,
    count,
    changed,
    refused,
    createdAt: iso(createdAt),
    createdBy,
    endedAt: endedAt === null ? null : iso(endedAt),
  };
}
