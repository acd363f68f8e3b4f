/** Sends a text to Slack: by a bot to any channel, or by an incoming webhook to the one it was made for. */

import { type Channel, SendError } from './channel.ts';
import { fieldsOf, post, refused } from './post.ts';
import { split } from './split.ts';

/** Slack cuts off longer ones. */
const TEXT_CHARS = 4_000;

export interface SlackOptions {
  readonly url: string;
  /** Of a bot. Without it the incoming webhook is used. */
  readonly token: string | null;
  readonly webhookUrl: string | null;
}

export function slack(options: SlackOptions): Channel {
  const { token, webhookUrl } = options;
  return {
    parts: (text) => split(text, TEXT_CHARS, (char) => escaped(char).length),
    send: async ({ target, text }, signal) => {
      if (token !== null) return byBot(options.url, token, target, escaped(text), signal);
      if (webhookUrl !== null) return byWebhook(webhookUrl, escaped(text), signal);
      throw new SendError('neither SPINE_SLACK_TOKEN nor SPINE_SLACK_WEBHOOK_URL is set');
    },
  };
}

/** These three would begin a mention, a link or an entity. */
function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

/** Answers 200 to refusals too, and says so in the body. */
async function byBot(url: string, token: string, channel: string, text: string, signal: AbortSignal) {
  const answer = await post({
    url: new URL(`${url.replace(/\/+$/, '')}/chat.postMessage`),
    who: 'Slack',
    headers: { authorization: `Bearer ${token}` },
    body: JSON.stringify({ channel, text }),
    signal,
  });
  const { ok, ts, error } = fieldsOf(answer.body);
  if (answer.status === 200 && ok === true) return { messageId: String(ts) };
  const words = typeof error === 'string' ? error.replaceAll(token, '…') : '';
  if (answer.status === 200)
    throw new SendError(`Slack refused it: ${words.slice(0, 300)}`, { final: FINAL.has(words) });
  throw refused('Slack', answer, words);
}

const FINAL = new Set(['msg_too_long', 'no_text', 'invalid_arguments', 'invalid_blocks']);

async function byWebhook(url: string, text: string, signal: AbortSignal) {
  const answer = await post({ url: new URL(url), who: 'Slack', body: JSON.stringify({ text }), signal });
  if (answer.status !== 200) throw refused('Slack', answer, answer.body.replaceAll(url, '…'));
  return { status: answer.status };
}
