/** Asks a model by Anthropic's Messages API. */

import { SendError } from './channel.ts';
import { fieldsOf, post, refused } from './post.ts';

const VERSION = '2023-06-01';
/** Two sentences, with room. */
const MAX_TOKENS = 300;

export interface ModelOptions {
  readonly url: string;
  readonly key: string;
  readonly model: string;
  readonly timeoutMs: number;
}

export interface ModelAnswer {
  readonly text: string;
  readonly inputTokens: number;
  readonly outputTokens: number;
}

export interface Model {
  readonly name: string;
  /** Throws a SendError when there is no answer that can be used. */
  ask(prompt: string, signal: AbortSignal): Promise<ModelAnswer>;
}

const WHO = 'the model';

export function anthropic({ url, key, model, timeoutMs }: ModelOptions): Model {
  return {
    name: model,
    ask: async (prompt, signal) => {
      const answer = await post({
        url: new URL(`${url.replace(/\/+$/, '')}/v1/messages`),
        who: WHO,
        headers: { 'x-api-key': key, 'anthropic-version': VERSION },
        body: JSON.stringify({
          model,
          max_tokens: MAX_TOKENS,
          messages: [{ role: 'user', content: prompt }],
        }),
        signal,
        timeoutMs,
      });
      const { content, usage, error } = fieldsOf(answer.body) as Answer;
      if (answer.status !== 200) throw refused(WHO, answer, words(error, key));
      const text = textOf(content);
      if (text === null) throw new SendError(`${WHO} answered something else than a message`);
      return {
        text,
        inputTokens: tokens(usage?.input_tokens),
        outputTokens: tokens(usage?.output_tokens),
      };
    },
  };
}

interface Answer {
  readonly content?: unknown;
  readonly usage?: { readonly input_tokens?: unknown; readonly output_tokens?: unknown } | null;
  readonly error?: { readonly message?: unknown } | null;
}

/** Of its blocks those of text. */
function textOf(content: unknown): string | null {
  if (!Array.isArray(content)) return null;
  const texts = (content as readonly { readonly type?: unknown; readonly text?: unknown }[])
    .filter((block) => block?.type === 'text')
    .map(({ text }) => text)
    .filter((text) => typeof text === 'string');
  return texts.length === 0 ? null : texts.join('\n');
}

function words(error: Answer['error'], key: string): string {
  const message = error?.message;
  return typeof message === 'string' ? message.replaceAll(key, '…') : '';
}

function tokens(count: unknown): number {
  return typeof count === 'number' && Number.isSafeInteger(count) && count >= 0 ? count : 0;
}
