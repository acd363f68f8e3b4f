/** The Bot API of Telegram on loopback: as strict as the original, and recording. */

import { listen, type Received, type Receiver, type Reply } from './receivers.ts';
import { textOfMarkdown } from './telegram-markdown.ts';

/** Real people in one chat: what they write and press. */
export interface Bot extends Receiver {
  /** What was sent, as people read it. */
  readonly texts: string[];
  /** What was said to those who pressed a button. */
  readonly answers: string[];
  /** The chat says something to the bot. */
  say(text: string, from?: { chat?: number; user?: number }): void;
  /** Somebody presses a button below a message. */
  press(data: string, from?: { chat?: number; user?: number }): void;
  /** Whatever else Telegram may send. */
  bring(update: Readonly<Record<string, unknown>>): void;
  /** The buttons of the last message that had some, by what they say. */
  buttons(): ReadonlyMap<string, string>;
  /** Tells of everything once more, as if nobody had confirmed it, and lets go of whoever reads. */
  repeat(): void;
  /** How many updates nobody has confirmed. */
  unconfirmed(): number;
}

export interface BotOptions {
  /** By this clock messages to one chat are counted; more than one in a second is refused. */
  readonly now?: () => number;
}

interface Update {
  readonly update_id: number;
  readonly [other: string]: unknown;
}

const FIELDS: Readonly<Record<string, ReadonlySet<string>>> = {
  sendMessage: new Set(['chat_id', 'text', 'message_thread_id', 'parse_mode', 'reply_markup']),
  getUpdates: new Set(['offset', 'limit', 'timeout', 'allowed_updates']),
  answerCallbackQuery: new Set(['callback_query_id', 'text']),
  getMe: new Set(),
};
const CHAT = -100;
const USER = 7;

export async function telegram(token: string, { now }: BotOptions = {}): Promise<Bot> {
  const texts: string[] = [];
  const answers: string[] = [];
  const updates: Update[] = [];
  const past: Update[] = [];
  /** Buttons that were pressed and not answered: a spinner turns on them. */
  const pressed = new Set<string>();
  const lastAt = new Map<string, number>();
  let [messages, updateId, reading] = [0, 500, 0];
  let arrived: () => void = () => undefined;

  function sendMessage({ body }: Received): Reply {
    const { chat_id, text: said, parse_mode, reply_markup } = body;
    if (typeof said !== 'string' || said.trim() === '') return no(400, 'message text is empty');
    if (!/^-?\d+$|^@\w+$/.test(String(chat_id))) return no(400, 'chat not found');
    if (reply_markup !== undefined && !isKeyboard(reply_markup)) return no(400, "can't parse reply keyboard");
    if (parse_mode !== undefined && parse_mode !== 'Markdown') return no(400, 'unsupported parse_mode');
    let read = said;
    try {
      if (parse_mode === 'Markdown') read = textOfMarkdown(said);
    } catch (error) {
      return no(400, `can't parse entities: ${(error as Error).message}`);
    }
    if (read.length > 4_096) return no(400, 'message is too long');
    const at = now?.();
    if (at !== undefined && at - (lastAt.get(String(chat_id)) ?? -Infinity) < 1_000) return limited(1);
    if (at !== undefined) lastAt.set(String(chat_id), at);
    texts.push(read);
    return yes({ message_id: ++messages, chat: { id: chat_id }, text: read });
  }

  async function getUpdates({ body }: Received): Promise<Reply> {
    const { offset = 0, limit = 100, timeout = 0 } = body as Record<string, number>;
    if (reading > 0)
      return no(409, 'Conflict: terminated by other getUpdates request; make sure that only one runs');
    reading += 1;
    try {
      while (updates[0] !== undefined && updates[0].update_id < offset) past.push(...updates.splice(0, 1));
      if (updates.length === 0 && timeout > 0)
        await new Promise<void>((resolve) => {
          arrived = resolve;
          setTimeout(resolve, timeout * 1_000).unref();
        });
      return yes(updates.slice(0, limit));
    } finally {
      reading -= 1;
    }
  }

  function answerCallbackQuery({ body }: Received): Reply {
    if (!pressed.delete(String(body['callback_query_id'])))
      return no(400, 'query is too old and response timeout expired or query ID is invalid');
    const said = body['text'] ?? '';
    if (typeof said !== 'string' || said.length > 200) return no(400, 'MESSAGE_TOO_LONG');
    answers.push(said);
    return yes(true);
  }

  const methods: Readonly<Record<string, (received: Received) => Reply | Promise<Reply>>> = {
    getMe: () => yes({ id: 1, is_bot: true, username: 'SpineBot' }),
    sendMessage,
    getUpdates,
    answerCallbackQuery,
  };
  const receiver = await listen((received) => {
    const [, bot, method = ''] = received.path.split('/');
    const known = FIELDS[method];
    if (bot !== `bot${token}`) return no(401, 'Unauthorized');
    if (known === undefined) return no(404, 'Not Found');
    if (!String(received.headers['content-type']).startsWith('application/json')) return no(400, 'no JSON');
    if (Object.keys(received.body).some((name) => !known.has(name))) return no(400, 'unknown field');
    return methods[method]?.(received) ?? no(404, 'Not Found');
  });

  const arrive = (update: Readonly<Record<string, unknown>>): void => {
    updates.push({ update_id: ++updateId, ...update });
    arrived();
  };
  return Object.assign(receiver, {
    texts,
    answers,
    say: (text: string, { chat = CHAT, user = USER } = {}) =>
      arrive({ message: { message_id: 1, from: { id: user }, chat: { id: chat }, text } }),
    press: (data: string, { chat = CHAT, user = USER } = {}) => {
      const message = { message_id: 1, chat: { id: chat } };
      pressed.add(`q${updateId}`);
      const query = { id: `q${updateId}`, from: { id: user }, data, message };
      arrive({ callback_query: query });
    },
    bring: arrive,
    buttons: () => {
      const markups = receiver.taken.flatMap(({ body }) => body['reply_markup'] ?? []);
      const { inline_keyboard: rows } = markups.at(-1) as {
        inline_keyboard: { text: string; callback_data: string }[][];
      };
      return new Map(rows.flat().map(({ text, callback_data }) => [text, callback_data]));
    },
    repeat: () => {
      updates.unshift(...past.splice(0));
      arrived();
    },
    unconfirmed: () => updates.length,
  });
}

/** What people can press: rows of buttons, each with words and up to 64 bytes of its own. */
function isKeyboard(markup: unknown): boolean {
  const { inline_keyboard: rows } = markup as { inline_keyboard?: unknown };
  return (
    Array.isArray(rows) &&
    rows.flat().every((button: unknown) => {
      const { text, callback_data: data } = button as Record<string, unknown>;
      return typeof text === 'string' && typeof data === 'string' && Buffer.byteLength(data) <= 64;
    })
  );
}

function yes(result: unknown): Reply {
  return { status: 200, body: { ok: true, result } };
}

function no(status: number, problem: string): Reply {
  const description = status === 400 ? `Bad Request: ${problem}` : problem;
  return { status, body: { ok: false, error_code: status, description } };
}

/** What a receiver is told that sends too fast. */
export function limited(seconds: number): Reply {
  const description = `Too Many Requests: retry after ${seconds}`;
  const parameters = { retry_after: seconds };
  return { status: 429, body: { ok: false, error_code: 429, description, parameters } };
}
