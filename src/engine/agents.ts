/** Who sends and receives messages: registered by somebody, or known because it was heard. */

import { SYSTEM } from '../domain/actor.ts';
import type { Agent } from '../domain/agent.ts';
import { isNoAgent } from '../domain/names.ts';
import { SpineError } from '../domain/error.ts';
import { LIMITS } from '../domain/limits.ts';
import type { Tx } from '../store/store.ts';
import { audit } from './audit.ts';
import type { Core } from './core.ts';
import type { AgentDraft, Agents } from './engine.ts';
import type { Heard } from './presence.ts';

export function agentsOf(core: Core): Agents {
  const { store } = core;
  const get = async (id: string): Promise<Agent> => {
    const agent = await store.read.agents.byId(id);
    if (agent === null) throw new SpineError('not_found', { id });
    return core.presence.upToDate(agent);
  };
  return {
    get,
    list: async () => (await store.read.agents.all()).map((agent) => core.presence.upToDate(agent)),
    register: async (actor, draft) => {
      checkId(draft.id);
      await core.flusher.transact(actor, async (tx, changeSet) => {
        const known = await tx.agents.byId(draft.id);
        await tx.agents.lock();
        if (known === null && (await tx.agents.count()) >= LIMITS.agents) throw tooMany();
        await tx.agents.save(registered(draft, known, changeSet.now));
        if (known === null) await tx.receipts.addBroadcasts(draft.id, changeSet.now, LIMITS.broadcastsForNew);
        await audit(tx, changeSet, actor, 'agent.register', draft.id);
      });
      core.mail.add([draft.id]);
      return get(draft.id);
    },
    remove: (actor, id) =>
      core.flusher.transact(actor, async (tx, changeSet) => {
        await tx.agents.lock();
        const wasKnown = await tx.agents.remove(id);
        // Of a name that was made up there is nothing but what waits for it.
        const dropped = await tx.receipts.dropOpenOf(id);
        if (!wasKnown && dropped === 0) throw new SpineError('not_found', { id });
        await audit(tx, changeSet, actor, 'agent.remove', id);
      }),
  };
}

/** What is not said stays as it was. */
function registered({ id, name, capabilities }: AgentDraft, known: Agent | null, now: number): Agent {
  return {
    id,
    name: name === undefined ? (known?.name ?? null) : name,
    status: known?.status ?? 'idle',
    lastSeenAt: known?.lastSeenAt ?? null,
    capabilities: capabilities === undefined ? (known?.capabilities ?? null) : capabilities,
    registered: true,
    createdAt: known?.createdAt ?? now,
  };
}

function checkId(id: string): void {
  if (!isNoAgent(id)) return;
  throw new SpineError('bad_request', {
    field: 'id',
    problem: `id must not be ${id}: that name stands for no agent.`,
  });
}

function tooMany(): SpineError {
  return new SpineError('conflict', {
    problem: `There are ${LIMITS.agents} agents already; remove some first.`,
    limit: LIMITS.agents,
  });
}

/**
 * Makes agents known, with the broadcasts that have not run out. Of those that find no room nothing is kept: they get what is
 * sent to them by name. Whoever adds takes that right before any agent's row, so that two commits never wait for each other.
 */
export async function keepAgents(
  tx: Tx,
  heard: readonly (readonly [id: string, heard: Heard | null])[],
  now: number,
): Promise<void> {
  const known = new Set(heard.length === 0 ? [] : await tx.agents.ids());
  const fresh = heard.filter(([id]) => !known.has(id) && !isNoAgent(id));
  if (fresh.length > 0) await addAgents(tx, fresh, now);
  for (const [id, seen] of heard)
    if (seen !== null && known.has(id)) await tx.agents.heard(id, seen.at, seen.status);
}

async function addAgents(
  tx: Tx,
  fresh: readonly (readonly [id: string, heard: Heard | null])[],
  now: number,
): Promise<void> {
  await tx.agents.lock();
  let room = LIMITS.agents - (await tx.agents.count());
  for (const [id, seen] of fresh) {
    // Another server may have heard it too.
    if (room <= 0 || (await tx.agents.byId(id)) !== null) continue;
    room -= 1;
    await tx.agents.add(newAgent(id, seen, now));
    await tx.receipts.addBroadcasts(id, now, LIMITS.broadcastsForNew);
  }
}

function newAgent(id: string, seen: Heard | null, now: number): Agent {
  const { at: lastSeenAt = null, status = 'idle' } = seen ?? {};
  return { id, name: null, status, lastSeenAt, capabilities: null, registered: false, createdAt: now };
}

/** Workers of the environment's tokens are agents from the start. */
export async function keepWorkers(core: Core, names: readonly string[]): Promise<void> {
  const unheard = names.toSorted().map((name) => [name, null] as const);
  await core.flusher.transact(SYSTEM, async (tx, changeSet) => keepAgents(tx, unheard, changeSet.now));
}
