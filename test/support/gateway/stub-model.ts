/**
 * A model provider on loopback that speaks OpenAI's chat completions. What it does stands in the prompt, so that a
 * test steers it through the real gateway: a line `@model {"say":"hello","delayMs":100}`.
 */

import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';

export interface Steering {
  readonly say?: string;
  readonly delayMs?: number;
  /** Streams this many words instead, `gapMs` apart. */
  readonly words?: number;
  readonly gapMs?: number;
  readonly hang?: boolean;
  /** Fails with this status. */
  readonly status?: number;
  /** Calls a tool this many times before it answers. */
  readonly tool?: { readonly name: string; readonly args: unknown; readonly times: number };
}

/** The message that makes the model do this. */
export function steer(steering: Steering): string {
  return `@model ${JSON.stringify(steering)}`;
}

export interface ModelRequest {
  readonly at: number;
  readonly model: string;
  /** All that the user and the gateway said in the turn. */
  readonly prompt: string;
  readonly steering: Steering;
  endedAt: number | null;
  /** The gateway hung up before the answer was complete. */
  aborted: boolean;
}

interface Message {
  readonly role: string;
  readonly content?: unknown;
  readonly tool_calls?: readonly unknown[];
}

interface Body {
  readonly model: string;
  readonly stream?: boolean;
  readonly messages: readonly Message[];
}

export interface StubModel {
  readonly url: string;
  readonly requests: readonly ModelRequest[];
  stop(): Promise<void>;
}

export async function startStubModel(): Promise<StubModel> {
  const requests: ModelRequest[] = [];
  const server = createServer((request, response) => void answer(requests, request, response));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    requests,
    stop: async () => {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}

async function answer(
  requests: ModelRequest[],
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  if (request.method !== 'POST')
    return send(response, 200, { object: 'list', data: [{ id: 'echo', object: 'model' }] });
  const raw = await text(request);
  const body = JSON.parse(raw) as Body;
  const turn = openTurn(body.messages);
  const prompt = turn
    .filter(({ role }) => role === 'user')
    .map(wordsOf)
    .join('\n');
  const steering = steeringIn(prompt);
  const noted: ModelRequest = {
    at: Date.now(),
    model: body.model,
    prompt,
    steering,
    endedAt: null,
    aborted: false,
  };
  requests.push(noted);
  response.on('close', () => {
    noted.endedAt = Date.now();
    noted.aborted = !response.writableFinished;
  });
  if (steering.hang === true) return;
  if (steering.delayMs !== undefined) await sleep(steering.delayMs);
  if (steering.status !== undefined) {
    return send(response, steering.status, {
      error: { message: `stub error ${steering.status}`, type: 'server_error' },
    });
  }
  await speak(response, body, raw.length, steering, turn);
}

async function speak(
  response: ServerResponse,
  body: Body,
  promptChars: number,
  steering: Steering,
  turn: readonly Message[],
): Promise<void> {
  const called = turn.filter(({ role }) => role === 'tool').length;
  const tool = steering.tool !== undefined && called < steering.tool.times ? steering.tool : null;
  const words = tool === null ? wordsToSay(steering) : [];
  const delta = tool === null ? {} : { tool_calls: [toolCall(tool, called)] };
  const usage = {
    prompt_tokens: promptChars,
    completion_tokens: words.length,
    total_tokens: promptChars + words.length,
  };
  const finish_reason = tool === null ? 'stop' : 'tool_calls';
  const head = { id: `stub-${Date.now()}`, created: Math.floor(Date.now() / 1000), model: body.model };
  if (body.stream !== true) {
    const message = { role: 'assistant', content: words.join(''), ...delta };
    return send(response, 200, {
      ...head,
      object: 'chat.completion',
      usage,
      choices: [{ index: 0, message, finish_reason }],
    });
  }
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  const chunk = (choices: unknown[], rest = {}): void =>
    void response.write(
      `data: ${JSON.stringify({ ...head, object: 'chat.completion.chunk', choices, ...rest })}\n\n`,
    );
  chunk([{ index: 0, delta: { role: 'assistant', content: '', ...delta }, finish_reason: null }]);
  for (const content of words) {
    if (response.destroyed) return;
    chunk([{ index: 0, delta: { content }, finish_reason: null }]);
    if (steering.gapMs !== undefined) await sleep(steering.gapMs);
  }
  chunk([{ index: 0, delta: {}, finish_reason }]);
  chunk([], { usage });
  response.end('data: [DONE]\n\n');
}

function wordsToSay({ words, say = 'nothing to say' }: Steering): readonly string[] {
  if (words === undefined) return [say];
  return Array.from({ length: words }, (_, n) => (n === 0 ? 'word0' : ` word${n}`));
}

function toolCall(tool: NonNullable<Steering['tool']>, called: number): unknown {
  const call = { name: tool.name, arguments: JSON.stringify(tool.args) };
  return { index: 0, id: `call_${Date.now()}_${called}`, type: 'function', function: call };
}

/** From the last answer on. Tool calls are no answer, and a turn that was cut off is still open. */
function openTurn(messages: readonly Message[]): readonly Message[] {
  const answered = messages.findLastIndex(
    ({ role, tool_calls }) => role === 'assistant' && !tool_calls?.length,
  );
  return messages.slice(answered + 1);
}

function wordsOf({ content }: Message): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  return content.map((part: { text?: string }) => part.text ?? '').join('');
}

function steeringIn(prompt: string): Steering {
  const line = prompt.split('\n').findLast((line) => line.includes('@model {'));
  const json = line === undefined ? undefined : /@model (\{.*\})/.exec(line)?.[1];
  return json === undefined ? {} : (JSON.parse(json) as Steering);
}

function send(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body));
}
