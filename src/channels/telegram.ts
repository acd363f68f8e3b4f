/** Sends a text by a Telegram bot. As plain text: without a parse mode nothing in it can be taken for markup. */

import { type Channel, SendError } from './channel.ts';
import { fieldsOf, post, refused } from './post.ts';
import { split } from './split.ts';

const TEXT_CHARS = 4_096;
/** A chat's number or public name, and the number of a topic in it. */
const TARGET = /^(-?\d+|@\w+)(?::(\d+))?$/;

export interface TelegramOptions {
  readonly url: string;
  readonly token: string;
}

export function telegram({ url, token }: TelegramOptions): Channel {
  return {
    // Telegram counts UTF-16 units.
    parts: (text) => split(text, TEXT_CHARS),
    send: async ({ target, text }, signal) => {
      const [, chat, topic] = TARGET.exec(target) ?? [];
      if (chat === undefined)
        throw new SendError(`"${target}" is not a chat of Telegram: a number, or @name`, { final: true });
      const answer = await post({
        url: new URL(`${url.replace(/\/+$/, '')}/bot${token}/sendMessage`),
        who: 'Telegram',
        body: JSON.stringify({
          chat_id: chat,
          text,
          ...(topic !== undefined && { message_thread_id: Number(topic) }),
        }),
        signal,
      });
      const { ok, result, description, parameters } = fieldsOf(answer.body) as Answer;
      if (answer.status !== 200 || ok !== true)
        throw refused('Telegram', answer, words(description, token), waitOf(parameters));
      return { messageId: String(result?.message_id ?? '') };
    },
  };
}

interface Answer {
  readonly ok?: unknown;
  readonly result?: { readonly message_id?: number } | null;
  readonly description?: unknown;
  readonly parameters?: { readonly retry_after?: unknown } | null;
}

function waitOf(parameters: Answer['parameters']): number | undefined {
  const seconds = parameters?.retry_after;
  return typeof seconds === 'number' ? seconds * 1_000 : undefined;
}

function words(description: unknown, token: string): string {
  return typeof description === 'string' ? description.replaceAll(token, '…') : '';
}
