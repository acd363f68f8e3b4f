/** Requests that a gateway refuses, and how. The original and the stand-in are held to the same table. */

interface Door {
  readonly url: string;
  readonly token: string;
  readonly hookToken: string;
}

interface Case {
  readonly name: string;
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly auth?: 'token' | 'hook' | 'wrong';
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** The status, and `error.type` where the answer has one. */
  readonly expected: readonly [number, string | null];
}

const chat = { method: 'POST', path: '/v1/chat/completions', auth: 'token' } as const;
const messages = [{ role: 'user', content: 'hello' }];
const ask = (fields: object): string => JSON.stringify({ model: 'openclaw:main', messages, ...fields });

export const REFUSALS: readonly Case[] = [
  { name: 'POST /health', method: 'POST', path: '/health', expected: [405, null] },
  { name: 'a chat turn by GET', method: 'GET', path: chat.path, auth: 'token', expected: [405, null] },
  {
    name: 'a chat turn without a token',
    ...chat,
    auth: 'wrong',
    body: ask({}),
    expected: [401, 'unauthorized'],
  },
  { name: 'no JSON', ...chat, body: '{', expected: [400, 'invalid_request_error'] },
  { name: 'no message', ...chat, body: '{}', expected: [400, 'invalid_request_error'] },
  {
    name: 'a foreign model',
    ...chat,
    body: ask({ model: 'gpt-4' }),
    expected: [400, 'invalid_request_error'],
  },
  {
    name: 'an unknown agent',
    ...chat,
    body: ask({ model: 'openclaw:nobody' }),
    expected: [400, 'invalid_request_error'],
  },
  {
    name: 'a reserved session',
    ...chat,
    headers: { 'x-openclaw-session-key': 'cron:nightly' },
    body: ask({}),
    expected: [400, 'invalid_request_error'],
  },
  {
    name: 'a message of 21 MB',
    ...chat,
    body: ask({ messages: [{ role: 'user', content: 'x'.repeat(21 * 1024 * 1024) }] }),
    expected: [413, 'invalid_request_error'],
  },
  {
    name: 'a tool without a token',
    method: 'POST',
    path: '/tools/invoke',
    body: '{"tool":"sessions_list"}',
    expected: [401, 'unauthorized'],
  },
  {
    name: 'a tool that is not offered',
    method: 'POST',
    path: '/tools/invoke',
    auth: 'token',
    body: '{"tool":"sessions_spawn","args":{}}',
    expected: [404, 'not_found'],
  },
  {
    name: 'a wake with the wrong token',
    method: 'POST',
    path: '/hooks/wake',
    auth: 'token',
    body: '{"text":"hello","mode":"now"}',
    expected: [401, null],
  },
  {
    name: 'a wake without a text',
    method: 'POST',
    path: '/hooks/wake',
    auth: 'hook',
    body: '{}',
    expected: [400, null],
  },
];

/** The status and the type of the error that the gateway answers with. */
export async function refusalOf(
  { url, token, hookToken }: Door,
  refused: Case,
): Promise<readonly [number, string | null]> {
  const tokens = { token, hook: hookToken, wrong: 'wrong', none: null };
  const bearer = tokens[refused.auth ?? 'none'];
  const answer = await fetch(url + refused.path, {
    method: refused.method,
    headers: {
      'content-type': 'application/json',
      ...(bearer === null ? {} : { authorization: `Bearer ${bearer}` }),
      ...refused.headers,
    },
    ...(refused.body === undefined ? {} : { body: refused.body }),
  });
  return [answer.status, typeIn(await answer.text())];
}

function typeIn(body: string): string | null {
  try {
    return (JSON.parse(body) as { error?: { type?: string } }).error?.type ?? null;
  } catch {
    return null;
  }
}
