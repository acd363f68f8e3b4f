/**
 * Sends a text by a Telegram bot. As plain text: without a parse mode nothing in it can be taken for markup. Only the lines
 * for the operator's chat are made with markup; should Telegram not understand it, they go without.
 */

import { unmarked } from '../domain/chat-markup.ts';
import { type Channel, type OutgoingMessage, SendError } from './channel.ts';
import { fieldsOf, post, type PostAnswer, refused } from './post.ts';
import { split } from './split.ts';

const TEXT_CHARS = 4_096;
/** Telegram's own limit for one chat. */
const PACE_MS = 1_000;
/** A chat's number or public name, and the number of a topic in it. */
const TARGET = /^(-?\d+|@\w+)(?::(\d+))?$/;

export interface TelegramOptions {
  readonly url: string;
  readonly token: string;
}

export function telegram({ url, token }: TelegramOptions): Channel {
  const call = (message: Readonly<Record<string, unknown>>, signal: AbortSignal): Promise<PostAnswer> =>
    post({
      url: new URL(`${url.replace(/\/+$/, '')}/bot${token}/sendMessage`),
      who: 'Telegram',
      body: JSON.stringify(message),
      signal,
    });
  return {
    // Telegram counts UTF-16 units.
    parts: (text) => split(text, TEXT_CHARS),
    paceMs: PACE_MS,
    send: async ({ kind, target, text }, signal) => {
      const to = placeOf(target);
      let answer = await call({ ...to, ...marked(kind, text) }, signal);
      if (notUnderstood(answer)) answer = await call({ ...to, text: unmarked(text) }, signal);
      const { ok, result, description, parameters } = fieldsOf(answer.body) as Answer;
      if (answer.status !== 200 || ok !== true)
        throw refused('Telegram', answer, words(description, token), waitOf(parameters));
      return { messageId: String(result?.message_id ?? '') };
    },
  };
}

function placeOf(target: string) {
  const [, chat, topic] = TARGET.exec(target) ?? [];
  if (chat === undefined)
    throw new SendError(`"${target}" is not a chat of Telegram: a number, or @name`, { final: true });
  return { chat_id: chat, ...(topic !== undefined && { message_thread_id: Number(topic) }) };
}

function marked(kind: OutgoingMessage['kind'], text: string) {
  return kind === 'chat' ? { text, parse_mode: 'Markdown' } : { text };
}

function notUnderstood({ status, body }: PostAnswer): boolean {
  return status === 400 && String(fieldsOf(body)['description']).includes("can't parse entities");
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
