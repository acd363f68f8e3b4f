/** What people do in a chat with the bot, as Telegram tells of it. Anything may come: what is not understood is passed over. */

/** Where something was said, as replies are addressed. */
export interface ChatPlace {
  readonly chat: string;
  /** Its public name, with @; most have none. */
  readonly name: string | null;
  readonly topic: number | null;
}

export type ChatUpdate = { readonly id: number } & (
  | { readonly kind: 'said'; readonly place: ChatPlace; readonly user: string; readonly text: string }
  /** A button was pressed. Telegram does not always tell where. */
  | {
      readonly kind: 'pressed';
      readonly place: ChatPlace | null;
      readonly user: string;
      readonly press: string;
      readonly data: string;
    }
  | { readonly kind: 'other' }
);

/** Null when it is no update at all. */
export function chatUpdateOf(value: unknown): ChatUpdate | null {
  const { update_id: id, message, callback_query: query } = fields(value);
  if (typeof id !== 'number' || !Number.isSafeInteger(id) || id < 0) return null;
  return saidIn(id, fields(message)) ?? pressedIn(id, fields(query)) ?? { id, kind: 'other' };
}

function saidIn(id: number, message: Fields): ChatUpdate | null {
  const place = placeOf(message);
  const user = numberOf(fields(message['from'])['id']);
  const { text } = message;
  if (place === null || user === null || typeof text !== 'string') return null;
  return { id, kind: 'said', place, user, text: text.toWellFormed().replaceAll('\0', '') };
}

function pressedIn(id: number, query: Fields): ChatUpdate | null {
  const { id: press, data } = query;
  const user = numberOf(fields(query['from'])['id']);
  if (typeof press !== 'string' || !/^[\w-]{1,64}$/.test(press) || user === null) return null;
  const place = placeOf(fields(query['message']));
  return { id, kind: 'pressed', place, user, press, data: typeof data === 'string' ? data : '' };
}

function placeOf(message: Fields): ChatPlace | null {
  const { id, username } = fields(message['chat']);
  const chat = numberOf(id);
  if (chat === null) return null;
  const { is_topic_message: inTopic, message_thread_id: topic } = message;
  return {
    chat,
    name: typeof username === 'string' ? `@${username}` : null,
    topic: inTopic === true && typeof topic === 'number' && Number.isSafeInteger(topic) ? topic : null,
  };
}

function numberOf(value: unknown): string | null {
  return typeof value === 'number' && Number.isSafeInteger(value) ? String(value) : null;
}

/** A topic of a chat is not set apart: whoever may write in one may write in all. */
export function mayCommand(allowed: readonly string[], { chat, name }: ChatPlace): boolean {
  return allowed.some((each) => each === chat || each.toLowerCase() === name?.toLowerCase());
}

type Fields = Readonly<Record<string, unknown>>;

function fields(value: unknown): Fields {
  return typeof value === 'object' && value !== null ? (value as Fields) : {};
}
