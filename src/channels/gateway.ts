/** Sends a text by the `message` tool of an OpenClaw gateway, over whatever channels that has. */

import { gatewayPlace } from '../domain/alias.ts';
import { type Channel, type OutgoingMessage, type Proof, SendError } from './channel.ts';
import { fieldsOf, post, refused } from './post.ts';
import { split } from './split.ts';

export interface GatewayAccess {
  readonly name: string;
  readonly url: string;
  readonly token: string | null;
}

/** What one message of these holds; the others take at least as much as the smallest of the large ones. */
const TEXT_CHARS: Readonly<Record<string, number>> = { telegram: 4_096, discord: 2_000 };
const DEFAULT_CHARS = 4_000;

/** The channel `gateway`: its targets name the gateway's own channel, and the gateway if it is not main. */
export function gateway(gateways: readonly GatewayAccess[]): Channel {
  return {
    parts: (text, target) => partsFor(gatewayPlace(target)?.channel ?? '', text),
    send: async (message, signal) => {
      const place = gatewayPlace(message.target);
      if (place === null)
        throw new SendError(`"${message.target}" is not a place at a gateway`, { final: true });
      const { gateway: name, channel, target } = place;
      return sendBy(gateways, name, { ...message, target }, channel, signal);
    },
  };
}

/** One of the channels that the main gateway has, under that channel's own name. */
export function channelOfGateway(gateways: readonly GatewayAccess[], channel: string): Channel {
  return {
    parts: (text) => partsFor(channel, text),
    send: (message, signal) => sendBy(gateways, 'main', message, channel, signal),
  };
}

function partsFor(channel: string, text: string): string[] {
  return split(text, TEXT_CHARS[channel] ?? DEFAULT_CHARS);
}

async function sendBy(
  gateways: readonly GatewayAccess[],
  name: string,
  { target, text }: OutgoingMessage,
  channel: string,
  signal: AbortSignal,
): Promise<Proof> {
  const access = gateways.find((each) => each.name === name);
  if (access === undefined) throw new SendError(`the gateway "${name}" is not configured`, { final: true });
  const who = `the gateway ${name}`;
  const answer = await post({
    url: new URL(`${access.url.replace(/\/+$/, '')}/tools/invoke`),
    who,
    headers: credentials(access),
    body: JSON.stringify({
      tool: 'message',
      args: { action: 'send', channel, target, message: text },
      sessionKey: 'main',
    }),
    signal,
  });
  return (
    proofIn(who, answer.status, fieldsOf(answer.body), access.token) ??
    fail(refused(who, answer, wordsIn(answer.body, access.token)))
  );
}

/** As a gateway wants it: it grants an HTTP caller no scope by itself. */
function credentials({ token }: GatewayAccess): Record<string, string> {
  return token === null ? {} : { authorization: `Bearer ${token}`, 'x-openclaw-scopes': 'operator.write' };
}

/** A tool that failed is answered with 200 and says so inside. */
function proofIn(
  who: string,
  status: number,
  answer: Readonly<Record<string, unknown>>,
  token: string | null,
): Proof | null {
  if (status !== 200) return null;
  const result = fields(answer['result']);
  const details = fields(result['details']);
  if (answer['ok'] === false || details['status'] === 'error' || result['isError'] === true)
    throw new SendError(`${who} could not send it: ${wordsIn(JSON.stringify(details), token)}`);
  const id = details['messageId'] ?? details['message_id'] ?? details['id'] ?? result['messageId'];
  return typeof id === 'string' || typeof id === 'number' ? { messageId: String(id) } : { status };
}

function wordsIn(body: string, token: string | null): string {
  const { error, message } = fieldsOf(body);
  const words = fields(error)['message'] ?? message ?? error;
  const text = typeof words === 'string' ? words : '';
  return token === null ? text : text.replaceAll(token, '…');
}

function fields(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}

function fail(error: SendError): never {
  throw error;
}
