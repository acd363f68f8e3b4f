/** Agents: who sends and receives messages. */

import { SpineError } from '../../../domain/error.ts';
import { route, type Route } from '../../routes.ts';
import { seesAll } from './aliases.ts';
import { Agent, AgentBody, AgentParams, AgentRemoved, Agents } from './message-schemas.ts';
import { agentView } from './message-view.ts';
import { HEAD } from './schedules.ts';

const READERS = ['head', 'worker', 'viewer'] as const;

export const agentRoutes: readonly Route[] = [
  route({
    method: 'GET',
    path: '/agents',
    name: 'listAgents',
    about: 'List the agents that are known: registered ones, workers, and the agents of schedules.',
    who: READERS,
    answer: Agents,
    errors: ['forbidden'],
    handle: async ({ engine, actor }) => {
      // An agent has to know whom it can write to.
      if (actor.role !== 'worker') seesAll(actor);
      return { agents: (await engine.agents.list()).map((agent) => agentView(agent, engine.now())) };
    },
  }),
  route({
    method: 'GET',
    path: '/agents/:id',
    name: 'getAgent',
    about: 'Read what is known of an agent.',
    who: READERS,
    params: AgentParams,
    answer: Agent,
    errors: ['not_found', 'forbidden'],
    handle: async ({ engine, actor, params }) => {
      if (actor.role !== 'worker') seesAll(actor);
      return agentView(await engine.agents.get(params['id'] ?? ''), engine.now());
    },
  }),
  route({
    method: 'POST',
    path: '/agents',
    name: 'registerAgent',
    about: 'Make an agent known, or change what is said of it. A worker registers itself.',
    who: ['head', 'worker'],
    body: AgentBody,
    status: 201,
    answer: Agent,
    errors: ['forbidden', 'conflict'],
    handle: async ({ engine, actor, body }) => {
      if (actor.role === 'worker' && body.id !== actor.name) {
        const message = `You are ${actor.name}; only head registers others.`;
        throw new SpineError('forbidden', { id: body.id }, { message });
      }
      return agentView(await engine.agents.register(actor, body), engine.now());
    },
  }),
  route({
    method: 'DELETE',
    path: '/agents/:id',
    name: 'removeAgent',
    about: 'Forget an agent, and what waits for it.',
    who: HEAD,
    params: AgentParams,
    answer: AgentRemoved,
    errors: ['not_found'],
    handle: async ({ engine, actor, params }) => {
      const id = params['id'] ?? '';
      await engine.agents.remove(actor, id);
      return { id, removed: true };
    },
  }),
];
