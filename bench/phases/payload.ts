/** What the size of the input costs each verb: create, claim, heartbeat and complete, one by one, 50 in flight. */

import { inFlight, payload, perSecond } from '../measure.ts';
import type { Measured } from '../phase.ts';
import type { Place } from '../queue.ts';
import { CLAW, draft, HEAD, openSpine } from '../spine.ts';

export interface PayloadOptions {
  readonly jobs: number;
  readonly bytes: number;
}

const WIDTH = 50;
const HEARTBEATS = 3;

export async function payloadSize(
  place: Place,
  options: PayloadOptions,
  settle: () => Promise<void>,
): Promise<Measured> {
  const { engine, close } = await openSpine(place);
  const { jobs } = options;
  const each = (times: number, call: (i: number) => Promise<unknown>): Promise<number> =>
    perSecond(() => inFlight(WIDTH, (made) => made < times, call));
  const held: { readonly id: string; readonly leaseToken: string | null }[] = [];
  const holding = (i: number): { id: string; leaseToken: string | null } =>
    held[i % jobs] ?? { id: '', leaseToken: null };
  try {
    const create = await each(jobs, (i) => engine.jobs.create(HEAD, [draft(sized(i, options.bytes))]));
    await settle();
    const claim = await each(jobs, async () => {
      const claimed = await engine.leases.claimNext(CLAW, { targets: ['left-claw'], max: 1, waitMs: 0 });
      for (const { job } of claimed) held.push(job);
    });
    const heartbeat = await each(jobs * HEARTBEATS, (i) => {
      const { id, leaseToken } = holding(i);
      return engine.leases.heartbeat(CLAW, id, leaseToken, null);
    });
    const complete = await each(jobs, (i) => {
      const { id, leaseToken } = holding(i);
      return engine.leases.complete(CLAW, id, leaseToken, null);
    });
    const done = (await engine.counts()).find(({ state }) => state === 'done')?.n ?? 0;
    const problem = done === jobs ? null : `${done} jobs done of ${jobs}`;
    return { rates: { create, claim, heartbeat, complete }, problem };
  } finally {
    await close();
  }
}

/** Prose of a fixed length, different for each job, so that it compresses as prompts do. */
function sized(i: number, bytes: number): object {
  const input = payload(i);
  const missing = bytes - JSON.stringify(input).length;
  if (missing <= 0) return input;
  const from = (i * 7919) % (PROSE.length - bytes);
  return { ...input, body: input.body + PROSE.slice(from, from + missing) };
}

const WORDS =
  'agent answer before brief check claim decide draft each error every file finding first follow for from house if into job keep later lease list mail meeting never next note of only order over plan price question queue read report result retry rule ship source store table task team test text than that then time to token tool under until user wait want when which will with word work write year'.split(
    ' ',
  );
const PROSE = prose(100_000);

function prose(length: number): string {
  let text = '';
  // A small generator with a fixed seed: the same text in every run.
  for (let state = 1; text.length < length; state = (state * 48_271) % 2_147_483_647) {
    text += `${WORDS[state % WORDS.length]} ${state % 13 === 0 ? `${state % 9973}. ` : ''}`;
  }
  return text;
}
