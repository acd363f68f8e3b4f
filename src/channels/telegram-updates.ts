/** What people write to a Telegram bot, fetched by long polling: nothing of ours has to be reachable from outside. */

import type { ChatUpdate } from '../domain/chat-update.ts';
import { chatUpdateOf } from '../domain/chat-update.ts';
import { post } from './post.ts';
import { answerIn, methodUrl, type TelegramOptions } from './telegram.ts';

/** So few that their texts are small, however long they are. */
const UPDATES = 20;
const ANSWER_BYTES = 1_048_576;
/** What the answer may come later than it was to wait. */
const SLACK_MS = 10_000;

export interface UpdatesRead {
  readonly updates: readonly ChatUpdate[];
  /** Where to go on: behind all of them, and behind what could not be read. */
  readonly next: number;
}

export interface UpdateSource {
  /** Names the bot; no secret. */
  readonly bot: string;
  /** Whether this is what the bot is called. Throws a SendError when nobody can say. */
  isName(name: string, signal: AbortSignal): Promise<boolean>;
  /** Waits up to so long for the first. Throws a SendError. */
  read(from: number, waitS: number, signal: AbortSignal): Promise<UpdatesRead>;
}

export function telegramUpdates({ url, token }: TelegramOptions): UpdateSource {
  const call = async (method: string, body: object, waitS: number, signal: AbortSignal): Promise<unknown> => {
    const answer = await post({
      url: methodUrl(url, token, method),
      who: 'Telegram',
      body: JSON.stringify(body),
      signal,
      timeoutMs: waitS * 1_000 + SLACK_MS,
      answerBytes: ANSWER_BYTES,
    });
    const whole = answer.status !== 200 || answer.body.length < ANSWER_BYTES;
    return whole ? answerIn(answer, token) : new Overlong(answer.body);
  };
  const fetch = async (from: number, limit: number, waitS: number, signal: AbortSignal) => {
    const wanted = { offset: from, limit, timeout: waitS, allowed_updates: ['message', 'callback_query'] };
    return call('getUpdates', wanted, waitS, signal);
  };
  let name: string | null = null;
  return {
    bot: token.split(':', 1)[0] ?? '',
    isName: async (said, signal) => {
      name ??= nameIn(await call('getMe', {}, 0, signal));
      return name?.toLowerCase() === said.toLowerCase();
    },
    read: async (from, waitS, signal) => {
      const several = await fetch(from, UPDATES, waitS, signal);
      const found = several instanceof Overlong ? await fetch(from, 1, 0, signal) : several;
      // One that is too long even alone is passed over: all behind it would wait for ever.
      if (found instanceof Overlong) return { updates: [], next: Math.max(from, found.updateId) + 1 };
      const updates = (Array.isArray(found) ? found : [])
        .flatMap((each) => chatUpdateOf(each) ?? [])
        .filter(({ id }) => id >= from)
        .toSorted((a, b) => a.id - b.id);
      return { updates, next: (updates.at(-1)?.id ?? from - 1) + 1 };
    },
  };
}

function nameIn(me: unknown): string | null {
  const { username } = (me ?? {}) as { readonly username?: unknown };
  return typeof username === 'string' ? username : null;
}

/** An answer that was cut off. */
class Overlong {
  readonly updateId: number;

  constructor(head: string) {
    this.updateId = Number(/"update_id"\s*:\s*(\d{1,15})/.exec(head.slice(0, 1_000))?.[1] ?? 0);
  }
}
