/** Where schedules of a set of files deliver to. Judged before the transaction, because names are looked up in the network. */

import type { ScheduleSpec } from '../domain/schedule.ts';
import { checkDelivery } from './aliases.ts';
import { type Problem, problemOf } from './apply-problem.ts';
import type { Core } from './core.ts';

type Delivery = Pick<ScheduleSpec, 'deliveryChannel' | 'deliveryTo' | 'probe'>;

type Draft = Readonly<Record<string, unknown>>;

export function deliveryProblem(core: Core, draft: Draft): Promise<Problem | null> {
  return judge(core, deliveryOf(draft));
}

/** Each place is looked up once, however many schedules deliver to it. */
export async function deliveryProblems(core: Core, drafts: readonly Draft[]): Promise<Problem[]> {
  const judged = new Map<string, Promise<Problem | null>>();
  const found = drafts.map(async (draft, index) => {
    const delivery = deliveryOf(draft);
    const key = JSON.stringify(delivery);
    const judging = judged.get(key) ?? judge(core, delivery);
    judged.set(key, judging);
    const wrong = await judging;
    return wrong === null ? [] : [{ ...wrong, field: `schedules[${index}].${wrong.field}` }];
  });
  return (await Promise.all(found)).flat();
}

async function judge(core: Core, delivery: Delivery): Promise<Problem | null> {
  try {
    await checkDelivery(core, delivery);
    return null;
  } catch (error) {
    return problemOf(error);
  }
}

/** As it was written: what is no text is refused with the rest of its schedule. */
function deliveryOf(draft: Draft): Delivery {
  const text = (...names: readonly string[]): string | null => {
    const value = names.map((name) => draft[name]).find((each) => (each ?? null) !== null);
    return typeof value === 'string' ? value : null;
  };
  return {
    deliveryChannel: text('delivery_channel', 'deliveryChannel'),
    deliveryTo: text('delivery_to', 'deliveryTo'),
    probe: text('probe'),
  };
}
