/** Turns over POST /v1/chat/completions: any gateway has it, and a broken connection stops the turn. */

import { type HttpAnswer, turnRefused } from './classify.ts';
import { at, credentials, type Access } from './access.ts';
import { GatewayError } from './errors.ts';
import { call } from './http.ts';
import { type Fields, fields, items, numberOf, parsed, textOf } from './json.ts';
import { modelOverride, sessionName } from './session-names.ts';
import type { SessionRef, Turn, TurnResult, Usage } from './types.ts';
import { usage } from './usage.ts';

export interface Chat {
  run(turn: Turn, signal: AbortSignal, accepted: () => void): Promise<TurnResult>;
  /** Stops a turn of this process. */
  abort(session: SessionRef): 'aborted' | 'idle';
}

export function openChat(access: Access): Chat {
  const underWay = new Map<string, Set<AbortController>>();
  return {
    run: async (turn, signal, accepted) => {
      const name = sessionName(turn);
      const stop = new AbortController();
      const stops = underWay.get(name) ?? new Set();
      underWay.set(name, stops.add(stop));
      try {
        const answer = await post(access, turn, AbortSignal.any([signal, stop.signal]));
        if (answer.status !== 200) throw turnRefused(answer);
        accepted();
        return resultOf(answer);
      } finally {
        stops.delete(stop);
        if (stops.size === 0) underWay.delete(name);
      }
    },
    abort: (session) => {
      const stops = underWay.get(sessionName(session));
      for (const stop of stops ?? []) stop.abort();
      return stops === undefined ? 'idle' : 'aborted';
    },
  };
}

function post(access: Access, turn: Turn, signal: AbortSignal): Promise<HttpAnswer> {
  const override = modelOverride(turn);
  return call({
    url: at(access, '/v1/chat/completions'),
    method: 'POST',
    headers: {
      ...credentials(access),
      'x-openclaw-agent-id': turn.agentId,
      'x-openclaw-session-key': turn.sessionKey,
      ...(override === null ? {} : { 'x-openclaw-model': override }),
    },
    body: JSON.stringify({
      // The gateway refuses any other model here, whatever the headers say.
      model: `openclaw:${turn.agentId}`,
      messages: [{ role: 'user', content: turn.message }],
      stream: false,
    }),
    signal,
  });
}

function resultOf({ headers, body }: HttpAnswer): TurnResult {
  const completion = fields(parsed(body));
  const choice = fields(items(completion['choices'])[0]);
  const text = textOf(fields(choice['message'])['content']);
  if (text === null) {
    throw new GatewayError('failed', 'the gateway answered 200 without a message', { accepted: true });
  }
  const sessionKey = textOf(headers['x-openclaw-session-key']);
  return { text, usage: usageOf(fields(completion['usage'])), sessionKey };
}

function usageOf(counted: Fields): Usage | null {
  const count = (name: string): number | null => numberOf(counted[name]);
  return usage(count('prompt_tokens'), count('completion_tokens'), count('total_tokens'));
}
