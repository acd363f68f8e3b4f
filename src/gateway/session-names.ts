/** Which agent and which session a turn is for. The gateway refuses some names only after it has stored a broken session row. */

import { GatewayError } from './errors.ts';
import type { SessionRef, Turn } from './types.ts';

const AGENT_ID = /^[a-z0-9][a-z0-9_-]{0,63}$/i;
const SESSION_KEY = /^[\x21-\x7e]{1,512}$/;
/** Namespaces that the gateway keeps to itself. Over the WebSocket it would take them, and mix the turn up with its own. */
const RESERVED = ['cron:', 'subagent:', 'acp:'];

/** The gateway's own name of the session. */
export function sessionName({ agentId, sessionKey }: SessionRef): string {
  const key = sessionKey.startsWith('agent:') ? sessionKey : `agent:${agentId}:${sessionKey}`;
  return key.toLowerCase();
}

export function checkSession(session: SessionRef): void {
  checkAgent(session.agentId);
  if (!SESSION_KEY.test(session.sessionKey)) throw refusal('a session key is 1 to 512 visible characters');
  const own = `agent:${session.agentId.toLowerCase()}:`;
  const name = sessionName(session);
  if (!name.startsWith(own))
    throw refusal(`session ${name} belongs to another agent than ${session.agentId}`);
  const rest = name.slice(own.length);
  const reserved = RESERVED.find((prefix) => rest.startsWith(prefix));
  if (reserved !== undefined) throw refusal(`session keys that begin with ${reserved} belong to the gateway`);
}

export function checkAgent(agentId: string): void {
  if (!AGENT_ID.test(agentId)) throw refusal(`${JSON.stringify(agentId)} cannot be the id of an agent`);
}

/** The model to ask for instead of the agent's own, or null. */
export function modelOverride({ agentId, model }: Turn): string | null {
  if (model === null || model === '' || model === 'openclaw') return null;
  const named = /^(?:openclaw[/:]|agent:)(.+)$/.exec(model)?.[1];
  if (named === undefined) {
    if (/^[\w.-]+\/[\x21-\x7e]+$/.test(model)) return model;
    throw refusal(`model ${JSON.stringify(model)} is not of the form provider/model`);
  }
  if (named === agentId || named === 'default') return null;
  throw refusal(`model ${model} names another agent than ${agentId}`);
}

function refusal(message: string): GatewayError {
  return new GatewayError('refused', message);
}
