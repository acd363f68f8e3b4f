/**
 * Sends deliveries. At least once: one counts as delivered only after the other side took it and that was written down.
 * Each address is served by one server at a time, in order; a slow or dead one holds up nobody but itself.
 */

import { loopActor } from '../domain/actor.ts';
import type { ChannelOf } from '../channels/channels.ts';
import { type Channel, type Proof, SendError } from '../channels/channel.ts';
import {
  addressOf,
  isGivenUp,
  messageOf,
  STALE_MS,
  type TakenDelivery,
  type TriedDelivery,
} from '../domain/delivery.ts';
import type { Job } from '../domain/job.ts';
import { backoffDelayMs } from '../domain/retry.ts';
import type { Core } from '../engine/core.ts';
import { noteMoved, targetNow } from '../engine/moved-places.ts';
import type { Duty, Pass } from './loop.ts';

const DELIVERER = loopActor('deliverer');

const POLL_MS = 2_000;
/** How many addresses are served at once. */
const AT_ONCE = 50;
/** Longer than one message may take: if this server dies while it sends, another goes on after this. */
const LEASE_MS = 30_000;
const FIRST_RETRY_MS = 5_000;
const LONGEST_WAIT_MS = 3_600_000;
const CHAT_WAIT_MS = 60_000;
const ERROR_CHARS = 500;

interface Sent {
  readonly taken: TakenDelivery;
  /** What its target is called now. */
  readonly target: string;
  readonly job: Job | null;
}

export type OnMoved = (moved: Readonly<Record<'channel' | 'from' | 'to', string>>) => void;

export class Deliverer implements Duty {
  readonly name = 'deliverer';
  readonly everyMs = POLL_MS;
  readonly #core: Core;
  readonly #channelOf: ChannelOf;
  readonly #onMoved: OnMoved;
  readonly #sending = new Set<Promise<void>>();
  readonly #stopping = new AbortController();

  /** `onMoved` hears of a place that is called otherwise from now on. */
  constructor(core: Core, channelOf: ChannelOf, onMoved: OnMoved = () => undefined) {
    this.#core = core;
    this.#channelOf = channelOf;
    this.#onMoved = onMoved;
  }

  /** How many are under way. */
  get sending(): number {
    return this.#sending.size;
  }

  /** Begins what is due, and does not wait for it. */
  async runOnce(): Promise<Pass> {
    const room = AT_ONCE - this.sending;
    const nextAt = await this.#core.store.read.deliveries.nextAt();
    const now = this.#core.now();
    if (room === 0 || nextAt === null) return { done: 0, more: false };
    if (nextAt > now) return { done: 0, more: false, nextInMs: nextAt - now };
    const taken = await this.#core.flusher.transact(DELIVERER, async (tx, changeSet) =>
      tx.deliveries.take(changeSet.now, room, LEASE_MS),
    );
    await this.#beginAll(taken);
    return { done: taken.length, more: taken.length > 0 && this.sending < AT_ONCE };
  }

  /** Begins what only waits for more to go with: after this server nobody may be there to send it. */
  async flush(): Promise<void> {
    const taken = await this.#core.flusher.transact(DELIVERER, async (tx, { now }) =>
      tx.deliveries.takeEarly(now, AT_ONCE, LEASE_MS),
    );
    await this.#beginAll(taken);
  }

  async #beginAll(taken: readonly TakenDelivery[]): Promise<void> {
    const jobs = await this.#core.store.read.jobs.byNo(taken.flatMap(({ jobNo }) => jobNo ?? []));
    const targets = await Promise.all(taken.map((each) => targetNow(this.#core, each)));
    for (const [i, each] of taken.entries()) {
      const job = jobs.find(({ no }) => no === each.jobNo) ?? null;
      this.#begin({ taken: each, target: targets[i] ?? each.target, job });
    }
  }

  /** Calls off what is under way: the server stops. */
  callOff(): void {
    this.#stopping.abort();
  }

  /** Resolves when nothing is under way any more. */
  async rest(): Promise<void> {
    await Promise.all(this.#sending);
  }

  #begin(sent: Sent): void {
    const sending = this.#deliver(sent)
      // Nothing was written down: the address comes up again when its lease has run out.
      .catch(() => undefined)
      .finally(() => {
        this.#sending.delete(sending);
        this.#core.hints.delivering();
      });
    this.#sending.add(sending);
  }

  async #deliver(sent: Sent): Promise<void> {
    const { taken } = sent;
    try {
      const channel = this.#channelOf(taken.channel);
      const proof = await this.#sendParts(channel, sent);
      if (proof !== null)
        await this.#core.flusher.transact(DELIVERER, async (tx, { now }) =>
          tx.deliveries.end(tried(taken, now), proof, channel.paceMs ?? 0),
        );
    } catch (error) {
      if (error instanceof SendError) await this.#failed(taken, error);
      else throw error;
    }
  }

  /** The proof of all of them; null when another server has taken over meanwhile. */
  async #sendParts(channel: Channel, { taken, target, job }: Sent): Promise<string | null> {
    const { id, kind, createdAt, partsSent } = taken;
    const parts = channel.parts(messageOf(taken), target);
    const message = {
      id,
      kind,
      target,
      createdAt,
      runId: job?.id ?? null,
      scheduleId: job?.scheduleId ?? null,
    };
    const proofs = partsSent === 0 ? [] : partsIn(taken.proof);
    for (const [i, part] of parts.entries()) {
      if (i < partsSent) continue;
      // A receiver that drops repeats must not drop the second part for the first.
      const own = parts.length === 1 ? id : `${id}.${i + 1}`;
      const buttons = i === parts.length - 1 ? taken.buttons : null;
      proofs.push(await channel.send({ ...message, id: own, text: part, buttons }, this.#stopping.signal));
      if (i < parts.length - 1 && !(await this.#notePart(taken, i + 1, proofs))) return null;
    }
    return proofOf(proofs);
  }

  #notePart(taken: TakenDelivery, partsSent: number, proofs: readonly Proof[]): Promise<boolean> {
    const proof = JSON.stringify({ parts: proofs });
    return this.#core.flusher.transact(DELIVERER, async (tx, { now }) =>
      tx.deliveries.noteParts(tried(taken, now), partsSent, proof, LEASE_MS),
    );
  }

  async #failed(taken: TakenDelivery, { message, final, retryAfterMs, movedTo }: SendError): Promise<void> {
    const waitMs = movedTo === null ? waitAfter(taken, retryAfterMs) : 0;
    if (movedTo !== null) this.#onMoved({ channel: taken.channel, from: taken.target, to: movedTo });
    await this.#core.flusher.transact(DELIVERER, async (tx, { now }) => {
      if (movedTo !== null) await noteMoved(tx, taken, movedTo);
      const error = message.slice(0, ERROR_CHARS).toWellFormed();
      // Whoever stops a server wants the rest to go on elsewhere.
      const runAt = this.#stopping.signal.aborted ? now : now + Math.min(waitMs, LONGEST_WAIT_MS);
      if (final) return tx.deliveries.giveUp(tried(taken, now), error, now, null);
      if (isGivenUp(taken, now)) return tx.deliveries.giveUp(tried(taken, now), error, runAt, now - STALE_MS);
      return tx.deliveries.retry(tried(taken, now), error, runAt);
    });
  }
}

/** The operator's chat is looked after again soon, however long it was away: what its lines tell is news. */
function waitAfter({ kind, failures }: TakenDelivery, retryAfterMs: number | null): number {
  const backoffMs = backoffDelayMs(FIRST_RETRY_MS, failures + 1);
  if (kind === 'chat') return retryAfterMs ?? Math.min(backoffMs, CHAT_WAIT_MS);
  return Math.max(backoffMs, retryAfterMs ?? 0);
}

function tried(taken: TakenDelivery, now: number): TriedDelivery {
  const lastNo = taken.alongside.at(-1)?.no ?? taken.no;
  return { no: taken.no, lastNo, address: addressOf(taken), attempts: taken.attempts, now };
}

function partsIn(proof: string | null): Proof[] {
  return proof === null ? [] : (JSON.parse(proof) as { parts: Proof[] }).parts;
}

function proofOf(proofs: readonly Proof[]): string {
  return JSON.stringify(proofs.length === 1 ? proofs[0] : { parts: proofs });
}
