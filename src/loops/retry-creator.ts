/**
 * Sees to failed jobs whose retry waits for a model's word: asks, keeps what was said, and has the job settled. A model that
 * does not answer costs a job its advice, and never its retry.
 */

import { SendError } from '../channels/channel.ts';
import type { Model, ModelAnswer } from '../channels/anthropic.ts';
import { loopActor } from '../domain/actor.ts';
import { type Verdict, verdictIn } from '../domain/verdict.ts';
import { SLACK_MS } from '../engine/consulting.ts';
import type { AdviceSettings, Core } from '../engine/core.ts';
import { settle } from '../engine/settling.ts';
import { failurePrompt } from '../prompt/failure.ts';
import type { Duty, Pass } from './loop.ts';

const RETRIER = loopActor('retry-creator');

const BATCH = 200;
const AT_ONCE = 8;
const HOUR_MS = 3_600_000;
/** A call that died with its server is made once more, and no oftener. */
const ASKS = 2;
/** A failure that nobody could be asked about is not asked about again at once. */
const NONE_MS = 60_000;
/** A key that is not taken, and an API that is overrun, are left alone for a while. */
const REFUSED_MS = 600_000;
const OVERRUN_MS = 30_000;

export interface RetryCreatorOptions {
  readonly core: Core;
  readonly everyMs: number;
  /** Null when there is nobody to ask. */
  readonly model: Model | null;
}

interface Wanted {
  readonly fingerprint: string;
  readonly body: string;
  readonly asks: number;
  readonly until: number;
}
type Asked = Verdict & { readonly spent: Spent | null };
interface Spent extends Pick<ModelAnswer, 'inputTokens' | 'outputTokens'> {
  readonly tookMs: number;
  readonly error: string | null;
}

export class RetryCreator implements Duty {
  readonly name = 'retry-creator';
  readonly everyMs: number;
  readonly #core: Core;
  readonly #model: Model | null;
  readonly #asking = new Set<Promise<void>>();
  readonly #stopping = new AbortController();
  #restUntil = 0;

  constructor({ core, everyMs, model }: RetryCreatorOptions) {
    this.#core = core;
    this.everyMs = everyMs;
    this.#model = model;
  }

  async runOnce(): Promise<Pass> {
    const { store, advice } = this.#core;
    if (this.#model !== null && advice !== null) await this.#ask(this.#model, advice);
    const over = await store.read.consultations.over(this.#core.now(), BATCH);
    if (over.length > 0) await settle(this.#core, over);
    const waits = [await store.read.consultations.nextAt(), await this.#nextUnaskedAt()];
    const nextAt = Math.min(...waits.map((at) => at ?? Infinity));
    const more = over.length === BATCH;
    return { done: over.length, more, nextInMs: nextAt === Infinity ? null : nextAt - this.#core.now() };
  }

  /** When the next one has waited in vain until somebody had the time to ask. */
  async #nextUnaskedAt(): Promise<number | null> {
    const wantedAt = await this.#core.store.read.verdicts.nextUnaskedAt();
    return wantedAt === null ? null : wantedAt + (this.#core.advice?.waitMs ?? 0);
  }

  /** Resolves when nothing is under way any more. What was not answered is asked again by whoever comes next. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.rest();
  }

  async rest(): Promise<void> {
    await Promise.all(this.#asking);
  }

  /** Begins what is wanted, and does not wait for the answers. */
  async #ask(model: Model, advice: AdviceSettings): Promise<void> {
    const room = Math.max(0, AT_ONCE - this.#asking.size);
    if (this.#stopping.signal.aborted) return;
    const [wanted, called] = await this.#core.flusher.transact(RETRIER, async (tx, { now }) => [
      // Longer than an answer may take: another server asks only when this one is gone.
      await tx.verdicts.take(now, room, advice.waitMs + SLACK_MS),
      await tx.modelCalls.countSince(now - HOUR_MS),
      await tx.verdicts.dropUnasked(now - advice.waitMs, 'nobody had the time to ask', now),
    ]);
    // Those that are asked just now are counted when they have answered.
    const counted = called + this.#asking.size;
    wanted.forEach((each, i) => {
      const isBeyond = counted + i >= advice.perHour;
      const asking = this.#answer(each, model, isBeyond)
        .then((asked) => this.#keep(each, asked, model, advice))
        // Nothing was written down: it comes up again when its time has run out.
        .catch(() => undefined)
        .finally(() => {
          this.#asking.delete(asking);
          this.#core.hints.consulting();
        });
      this.#asking.add(asking);
    });
  }

  /** Null when this server stops. */
  async #answer({ body, asks }: Wanted, model: Model, isBeyond: boolean): Promise<Asked | null> {
    const startedAt = this.#core.now();
    if (isBeyond) return none('the model has been asked as often in this hour as it may be');
    if (asks > ASKS) return none('nobody who asked the model lived to hear its answer');
    if (startedAt < this.#restUntil) return none('the model has refused to be asked for now');
    try {
      const prompt = failurePrompt(body, this.#core.ids.leaseToken());
      const { text, ...used } = await model.ask(prompt, this.#stopping.signal);
      return { ...verdictIn(text), spent: { ...used, tookMs: this.#core.now() - startedAt, error: null } };
    } catch (error) {
      if (this.#stopping.signal.aborted) return null;
      const { message, retryAfterMs } = troubleOf(error);
      this.#restUntil = Math.max(this.#restUntil, this.#core.now() + retryAfterMs);
      const tookMs = this.#core.now() - startedAt;
      return { ...none(message), spent: { inputTokens: 0, outputTokens: 0, tookMs, error: message } };
    }
  }

  async #keep(wanted: Wanted, asked: Asked | null, model: Model, advice: AdviceSettings): Promise<void> {
    await this.#core.flusher.transact(RETRIER, async (tx, { now }) => {
      if (asked === null) return tx.verdicts.giveUp(wanted);
      const { spent, ...verdict } = asked;
      const goodMs = verdict.decision === 'none' ? NONE_MS : advice.reuseMs;
      await tx.verdicts.decide(wanted, verdict, now, now + goodMs);
      const call = { at: now, purpose: 'advice', subject: wanted.fingerprint, model: model.name } as const;
      if (spent !== null) await tx.modelCalls.add([{ ...call, ...spent }]);
    });
  }
}

function none(words: string): Asked {
  return { decision: 'none', words, spent: null };
}

/** How the call went wrong, and for how long to leave the other side alone. */
function troubleOf(error: unknown): { readonly message: string; readonly retryAfterMs: number } {
  if (!(error instanceof SendError)) return { message: 'the model could not be asked', retryAfterMs: 0 };
  const { message, retryAfterMs } = error;
  if (retryAfterMs !== null) return { message, retryAfterMs: Math.min(retryAfterMs, HOUR_MS) };
  if (/answered 40[13]\b/.test(message)) return { message, retryAfterMs: REFUSED_MS };
  return { message, retryAfterMs: /answered (?:429|529)\b/.test(message) ? OVERRUN_MS : 0 };
}
