/**
 * Sends a text by a Telegram bot. As plain text: without a parse mode nothing in it can be taken for markup. Only the lines
 * for the operator's chat are made with markup; should Telegram not understand it, they go without.
 */

import type { Button } from '../domain/button.ts';
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
  /** Commands are read: buttons do something. */
  readonly buttons?: boolean;
}

/** The answer to a pressed button goes to the press, not to a chat. */
const PRESS = /^press:([\w-]+)$/;
const PRESS_CHARS = 200;
const LABEL_CHARS = 60;
const BUTTONS_IN_ROW = 2;

export function telegram({ url, token, buttons: pressable = false }: TelegramOptions): Channel {
  const call = (
    message: Readonly<Record<string, unknown>>,
    signal: AbortSignal,
    method = 'sendMessage',
  ): Promise<PostAnswer> =>
    post({ url: methodUrl(url, token, method), who: 'Telegram', body: JSON.stringify(message), signal });
  return {
    // Telegram counts UTF-16 units.
    parts: (text) => split(text, TEXT_CHARS),
    paceMs: PACE_MS,
    send: async ({ kind, target, text, buttons = null }, signal) => {
      const [, press] = PRESS.exec(target) ?? [];
      if (press !== undefined) {
        const said = { callback_query_id: press, text: cut(text, PRESS_CHARS) };
        answerIn(await call(said, signal, 'answerCallbackQuery'), token);
        return { status: 200 };
      }
      const below = pressable && buttons !== null ? { reply_markup: keyboardOf(buttons) } : {};
      const to = { ...placeOf(target), ...below };
      let answer = await call({ ...to, ...marked(kind, text) }, signal);
      if (notUnderstood(answer)) answer = await call({ ...to, text: unmarked(text) }, signal);
      const movedTo = newNumberOf(answer);
      if (movedTo !== null) throw new SendError(`The chat ${target} is ${movedTo} by now`, { movedTo });
      const result = answerIn(answer, token) as { readonly message_id?: number } | null | undefined;
      return { messageId: String(result?.message_id ?? '') };
    },
  };
}

export function methodUrl(url: string, token: string, method: string): URL {
  return new URL(`${url.replace(/\/+$/, '')}/bot${token}/${method}`);
}

/** What it answered; throws what it refused, in words without the token. */
export function answerIn(answer: PostAnswer, token: string): unknown {
  const { ok, result, description, parameters } = fieldsOf(answer.body) as Answer;
  if (answer.status === 200 && ok === true) return result;
  throw refused('Telegram', answer, words(description, token), waitOf(parameters));
}

function keyboardOf(buttons: readonly Button[]) {
  const keys = buttons.map(({ label, data }) => ({ text: cut(label, LABEL_CHARS), callback_data: data }));
  const rows = Array.from({ length: Math.ceil(keys.length / BUTTONS_IN_ROW) }, (_, row) =>
    keys.slice(row * BUTTONS_IN_ROW, (row + 1) * BUTTONS_IN_ROW),
  );
  return { inline_keyboard: rows };
}

/** Without half a character at its end. */
function cut(text: string, chars: number): string {
  if (text.length <= chars) return text;
  const head = text.slice(0, chars - 1);
  return `${head.isWellFormed() ? head : head.slice(0, -1)}…`;
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

/** A group that became a supergroup has another number, and nothing goes to the one that it had. Topics begin only then. */
function newNumberOf({ status, body }: PostAnswer): string | null {
  if (status !== 400) return null;
  const { parameters } = fieldsOf(body) as Answer;
  const chat = parameters?.migrate_to_chat_id;
  return typeof chat === 'number' && Number.isSafeInteger(chat) ? String(chat) : null;
}

interface Answer {
  readonly ok?: unknown;
  readonly result?: unknown;
  readonly description?: unknown;
  readonly parameters?: { readonly retry_after?: unknown; readonly migrate_to_chat_id?: unknown } | null;
}

function waitOf(parameters: Answer['parameters']): number | undefined {
  const seconds = parameters?.retry_after;
  return typeof seconds === 'number' ? seconds * 1_000 : undefined;
}

function words(description: unknown, token: string): string {
  return typeof description === 'string' ? description.replaceAll(token, '…') : '';
}
