/** `spine deliveries …`: what was sent, and what could not be. */

import type { Delivery, DeliveryStatus } from '../../client/index.ts';
import type { Handler } from '../command.ts';
import { type Piece, styled } from '../text/line.ts';
import { table } from '../text/table.ts';
import { relative } from '../text/times.ts';
import { jobRef } from './job-ref.ts';
import { given } from './values.ts';

interface ListOptions {
  readonly status?: DeliveryStatus;
  readonly run?: string;
  readonly before?: number;
  readonly limit: number;
}

export const listDeliveries: Handler<ListOptions> = async (session, { options }) => {
  const client = await session.client();
  const { status, run, before, limit } = options;
  const run_id = run === undefined ? undefined : await jobRef(client, run);
  const page = await client.deliveries.list(given({ status, before, limit, run_id }));
  const { deliveries } = page;
  session.out.result({
    value: page,
    lines: () => {
      if (deliveries.length > 0)
        return table(
          HEADS,
          deliveries.map((each) => cells(each, session.now())),
          session.out.columns,
        );
      session.none('No deliveries.');
      return [];
    },
    ids: () => deliveries.map(({ id }) => id),
  });
  if (page.next_before !== null && !session.out.json)
    session.out.info(`There may be more: --before ${page.next_before}.`);
};

const HEADS = [
  { head: 'delivery' },
  { head: 'to', gives: true },
  { head: 'kind' },
  { head: 'status' },
  { head: 'tries', right: true },
  { head: 'when' },
  { head: 'error', gives: true },
];

function cells(delivery: Delivery, nowMs: number): Piece[] {
  const { id, alias, channel, target, kind, attempts, error } = delivery;
  return [
    id,
    alias ?? `${channel}:${target}`,
    kind,
    statusText(delivery),
    String(attempts),
    relative(delivery.delivered_at ?? delivery.created_at, nowMs),
    error ?? '-',
  ];
}

const STYLES = { pending: 'yellow', delivered: 'green', failed: 'red' } as const;

function statusText({ status }: Delivery): Piece {
  return styled(STYLES[status], status);
}

export const retryDelivery: Handler = async (session, { args: [id = ''] }) => {
  const delivery = await (await session.client()).deliveries.retry(id);
  session.out.result({
    value: delivery,
    lines: () => [`It is tried again: ${delivery.alias ?? `${delivery.channel}:${delivery.target}`}.`],
    ids: () => [delivery.id],
  });
};
