/** What became of texts for people outside. */

import { LARGE_ITEM_BYTES, pageOf } from '../../page.ts';
import { route, type Route } from '../../routes.ts';
import { seesAll } from './aliases.ts';
import { Deliveries, DeliveriesQuery, Delivery } from './delivery-schemas.ts';
import { deliveryView } from './delivery-view.ts';
import { HEAD, READERS } from './schedules.ts';
import { fullId } from '../../job-id.ts';

const PAGE = 100;
/** What a delivery takes beside its text. */
const DELIVERY_BYTES = 800;

export const deliveryRoutes: readonly Route[] = [
  route({
    method: 'GET',
    path: '/deliveries',
    name: 'listDeliveries',
    about: 'List deliveries, newest first and in pages: next_before is the before of the next one.',
    who: READERS,
    query: DeliveriesQuery,
    answer: Deliveries,
    errors: ['not_found', 'forbidden'],
    handle: async (call) => {
      const { engine, actor, query } = call;
      seesAll(actor);
      const { run_id, status, before: start, limit = PAGE } = query;
      const job =
        run_id === undefined ? null : await engine.jobs.get(actor, await fullId(engine, actor, run_id));
      const filter = { ...(job !== null && { jobNo: job.no }), ...(status !== undefined && { status }) };
      const { items, next } = await pageOf(call, {
        limit,
        itemBytes: LARGE_ITEM_BYTES,
        start,
        read: (before, count) =>
          engine.deliveries.list({ ...filter, ...(before !== undefined && { before }), limit: count }),
        cursorOf: ({ no }) => no,
        bytesOf: ({ text, proof }) => DELIVERY_BYTES + (text?.length ?? 0) + (proof?.length ?? 0),
      });
      return { deliveries: items.map((each) => deliveryView(actor, each)), next_before: next };
    },
  }),
  route({
    method: 'POST',
    path: '/deliveries/:id/retry',
    name: 'retryDelivery',
    about: 'Send one that failed after all, to where its alias leads now.',
    who: HEAD,
    answer: Delivery,
    errors: ['not_found', 'conflict'],
    handle: async ({ engine, actor, params }) =>
      deliveryView(actor, await engine.deliveries.retry(actor, params['id'] ?? '')),
  }),
];
