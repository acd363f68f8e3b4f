/**
 * Reads what people write to the bot, one server at a time, and has it done. How far it came is kept with what was done:
 * whatever dies in between, a command is done once.
 */

import { SendError } from '../channels/channel.ts';
import type { UpdateSource } from '../channels/telegram-updates.ts';
import { loopActor } from '../domain/actor.ts';
import { commandIn } from '../domain/chat-command.ts';
import { type ChatPlace, type ChatUpdate, mayCommand } from '../domain/chat-update.ts';
import { passOver, performUpdate } from '../engine/chat-commands.ts';
import type { Core } from '../engine/core.ts';
import { targetNow } from '../engine/moved-places.ts';
import { siteOf } from '../engine/server-name.ts';
import { backoffDelayMs } from '../domain/retry.ts';
import type { Duty, Pass } from './loop.ts';

const READER = loopActor('chat-reader');

/** Longer than one wait and all of its commands: if this server dies, another one reads on after it. */
const LEASE_MS = 90_000;
const LONGEST_WAIT_MS = 60_000;
/** Somebody else reads the same bot: that does not end by itself. */
const CONFLICT_MS = 30_000;
/** Of one person, in so much time; what is beyond it is passed over. */
const COMMANDS = 20;
const WINDOW_MS = 60_000;
const PEOPLE = 1_000;
const AGAIN_MS = 1_000;
/** After so long without a word Telegram may begin to count anew. */
const FORGOTTEN_MS = 6 * 86_400_000;

export interface ChatReaderOptions {
  readonly source: UpdateSource;
  /** Numbers and public names of the chats that may command. */
  readonly allowed: readonly string[];
  /** How long Telegram is asked to wait for something to come. */
  readonly waitS: number;
  /** Once for each kind of trouble, until it is over. */
  readonly onTrouble: (problem: string) => void;
}

export class ChatReader implements Duty {
  readonly name = 'chat-reader';
  readonly everyMs = LONGEST_WAIT_MS;
  readonly #core: Core;
  readonly #options: ChatReaderOptions;
  readonly #stopping = new AbortController();
  readonly #people = new Map<string, { since: number; count: number }>();
  #trouble: string | null = null;
  #failures = 0;
  #reads = false;

  constructor(core: Core, options: ChatReaderOptions) {
    this.#core = core;
    this.#options = options;
  }

  async runOnce(): Promise<Pass> {
    const { bot } = this.#options.source;
    const now = this.#core.now();
    const { server } = this.#core;
    const taken = await this.#core.flusher.transact(READER, async (tx) => {
      const us = { reader: server, site: `${siteOf(server)}/` };
      const until = await tx.chatReaders.take(bot, us, now, now + LEASE_MS);
      if (until !== null) return { until };
      const { nextUpdate, heardAt } = await tx.chatReaders.next(bot);
      if (nextUpdate === 0 || now - heardAt <= FORGOTTEN_MS) return { from: nextUpdate };
      await tx.chatReaders.advance(bot, 0, now);
      return { from: 0 };
    });
    this.#reads = taken.from !== undefined;
    if (taken.from !== undefined) return this.#read(taken.from);
    return { done: 0, more: false, nextInMs: Math.max(AGAIN_MS, taken.until - now) };
  }

  /** Ends the wait that is under way: the server stops. */
  callOff(): void {
    this.#stopping.abort();
  }

  /** Another server may go on at once. To be called after the last pass. */
  async release(): Promise<void> {
    if (!this.#reads) return;
    const { bot } = this.#options.source;
    await this.#core.flusher.transact(READER, async (tx) => tx.chatReaders.release(bot, this.#core.server));
  }

  async #read(from: number): Promise<Pass> {
    const { source, waitS } = this.#options;
    try {
      const begunAt = this.#core.now();
      const { updates, next } = await source.read(from, waitS, this.#stopping.signal);
      this.#failures = 0;
      this.#trouble = null;
      await this.#doAll(updates, next);
      // Whoever does not wait as it is asked to is not asked all the time.
      const waited = this.#core.now() - begunAt >= AGAIN_MS;
      return { done: updates.length, more: next > from, nextInMs: waited ? 0 : AGAIN_MS };
    } catch (error) {
      if (!(error instanceof SendError)) throw error;
      return this.#failed(error);
    }
  }

  /** Telegram is away, or wants to be left alone, or somebody else reads. It is said once. */
  #failed(error: SendError): Pass {
    if (this.#stopping.signal.aborted) return { done: 0, more: false };
    if (this.#trouble !== error.message) this.#options.onTrouble(error.message);
    this.#trouble = error.message;
    this.#failures += 1;
    const backoffMs = Math.min(backoffDelayMs(1_000, this.#failures), LONGEST_WAIT_MS);
    const leastMs = error.message.startsWith('Telegram answered 409') ? CONFLICT_MS : 0;
    return { done: 0, more: false, nextInMs: Math.max(backoffMs, leastMs, error.retryAfterMs ?? 0) };
  }

  async #doAll(updates: readonly ChatUpdate[], next: number): Promise<void> {
    const { bot } = this.#options.source;
    let counted = 0;
    for (const update of updates) {
      if (this.#stopping.signal.aborted) break;
      if (update.kind === 'other' || !(await this.#isForUs(update)) || !this.#hasRoom(update.user)) continue;
      const allowed = update.place !== null && (await this.#mayCommand(update.place));
      await performUpdate(this.#core, bot, update, allowed);
      counted = update.id + 1;
    }
    if (next > counted && !this.#stopping.signal.aborted) await passOver(this.#core, bot, READER, next);
  }

  /** A pressed button waits for an answer, whoever pressed it; words in other chats, and to other bots, are not ours. */
  async #isForUs(update: Exclude<ChatUpdate, { kind: 'other' }>): Promise<boolean> {
    if (update.kind === 'pressed') return true;
    const command = commandIn(update.text);
    if (command === null || !(await this.#mayCommand(update.place))) return false;
    return command.bot === null || this.#options.source.isName(command.bot, this.#stopping.signal);
  }

  /** A chat that was allowed is so under the number that it has by now. */
  async #mayCommand(place: ChatPlace): Promise<boolean> {
    const { allowed } = this.#options;
    if (mayCommand(allowed, place)) return true;
    const now = allowed.map((target) => targetNow(this.#core, { channel: 'telegram', target }));
    return mayCommand(await Promise.all(now), place);
  }

  #hasRoom(user: string): boolean {
    const now = this.#core.now();
    const known = this.#people.get(user);
    if (known !== undefined && now - known.since < WINDOW_MS) {
      known.count += 1;
      return known.count <= COMMANDS;
    }
    if (this.#people.size >= PEOPLE) this.#people.clear();
    this.#people.set(user, { since: now, count: 1 });
    return true;
  }
}
