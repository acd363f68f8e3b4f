/** What became of texts for people outside. */

import type { Actor } from '../domain/command.ts';
import type { Delivery } from '../domain/delivery.ts';
import { SpineError } from '../domain/error.ts';
import type { Job } from '../domain/job.ts';
import { audit } from './audit.ts';
import type { Core } from './core.ts';
import type { Deliveries, ShownDelivery } from './engine.ts';

export function deliveriesOf(core: Core): Deliveries {
  const { read } = core.store;
  const shown = async (deliveries: readonly Delivery[]): Promise<ShownDelivery[]> => {
    const nos = [...new Set(deliveries.flatMap(({ jobNo }) => jobNo ?? []))];
    const jobs = new Map((await read.jobs.byNo(nos)).map((job): [number, Job] => [job.no, job]));
    return deliveries.map((each) => {
      const job = each.jobNo === null ? undefined : jobs.get(each.jobNo);
      return { ...each, jobId: job?.id ?? null, scheduleId: job?.scheduleId ?? null };
    });
  };
  const get = async (id: string): Promise<ShownDelivery> => {
    const found = await read.deliveries.byId(id);
    const [delivery] = found === null ? [] : await shown([found]);
    if (delivery === undefined) throw new SpineError('not_found', { id });
    return delivery;
  };
  return {
    list: async (filter) => shown(await read.deliveries.list(filter)),
    retry: async (actor, id) => {
      await retry(core, actor, await get(id));
      core.hints.delivering();
      return get(id);
    },
  };
}

/** Where its alias leads today. */
async function retry(core: Core, actor: Actor, { id, alias, channel, target }: Delivery): Promise<void> {
  await core.flusher.transact(actor, async (tx, changeSet) => {
    const place = alias === null ? { channel, target } : await tx.aliases.byName(alias);
    if (place === null) throw new SpineError('conflict', { id, problem: `There is no alias @${alias}.` });
    if (!(await tx.deliveries.reopen(id, place, changeSet.now)))
      throw new SpineError('conflict', {
        id,
        problem: 'Only a delivery that has failed can be tried again.',
      });
    await audit(tx, changeSet, actor, 'delivery.retry', id);
  });
}
