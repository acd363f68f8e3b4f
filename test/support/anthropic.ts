/** The Messages API of Anthropic on loopback: as strict as the original, and recording. */

import { listen, type Received, type Receiver, type Reply } from './receivers.ts';

export interface StandIn extends Receiver {
  /** What it answers to what was asked; the text of its message, or a whole reply. */
  say: (asked: string) => string | Reply | Promise<string | Reply>;
  /** What it was asked, in order. */
  readonly asked: string[];
}

const FIELDS = new Set(['model', 'max_tokens', 'messages', 'system', 'temperature', 'stop_sequences']);

export async function anthropic(key: string): Promise<StandIn> {
  const asked: string[] = [];
  const answer = async (received: Received): Promise<Reply> => {
    const refused = problemWith(received, key);
    if (refused !== null) return refused;
    const { messages, model } = received.body as { messages: { content: string }[]; model: string };
    const question = messages[0]?.content ?? '';
    asked.push(question);
    const said = await made.say(question);
    return typeof said === 'string' ? message(said, model, question) : said;
  };
  const receiver = await listen(answer);
  const made: StandIn = Object.assign(receiver, { asked, say: () => 'Use longer delays between requests.' });
  return made;
}

function message(text: string, model = 'm', question = ''): Reply {
  const usage = { input_tokens: Math.ceil(question.length / 4), output_tokens: Math.ceil(text.length / 4) };
  const content = [{ type: 'text', text }];
  const body = {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model,
    content,
    stop_reason: 'end_turn',
    usage,
  };
  return { status: 200, body };
}

export function no(status: number, type: string, text: string, headers: Record<string, string> = {}): Reply {
  return { status, headers, body: { type: 'error', error: { type, message: text } } };
}

function problemWith({ path, headers, body }: Received, key: string): Reply | null {
  const bad = (text: string): Reply => no(400, 'invalid_request_error', text);
  if (path !== '/v1/messages') return no(404, 'not_found_error', 'Not found');
  if (headers['x-api-key'] !== key)
    return no(401, 'authentication_error', `invalid x-api-key ${String(headers['x-api-key'])}`);
  if (headers['anthropic-version'] !== '2023-06-01') return bad('anthropic-version: header is required');
  if (!(headers['content-type'] ?? '').startsWith('application/json')) return bad('content-type: not JSON');
  for (const name of Object.keys(body))
    if (!FIELDS.has(name)) return bad(`${name}: Extra inputs are not permitted`);
  const { model, max_tokens: most, messages } = body;
  if (typeof model !== 'string' || model === '') return bad('model: Field required');
  if (typeof most !== 'number' || !Number.isInteger(most) || most < 1)
    return bad('max_tokens: Field required');
  if (!Array.isArray(messages) || messages.length === 0)
    return bad('messages: at least one message is required');
  for (const { role, content } of messages as { role?: unknown; content?: unknown }[]) {
    if (role !== 'user' && role !== 'assistant') return bad('messages.0.role: unexpected value');
    if (typeof content !== 'string' || content.trim() === '')
      return bad('messages.0: all messages must have non-empty content');
  }
  return null;
}
