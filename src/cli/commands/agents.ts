/** `agents …`: who sends and receives messages. */

import type { Agent } from '../../client/index.ts';
import type { Handler } from '../command.ts';
import { type Line, type Piece, styled } from '../text/line.ts';
import { table } from '../text/table.ts';
import { relative } from '../text/times.ts';
import { confirm } from './confirm.ts';
import { fact } from './job-lines.ts';
import { given } from './values.ts';

export const listAgents: Handler = async (session) => {
  const agents = await (await session.client()).agents.list();
  session.out.result({
    value: { agents },
    lines: () => {
      if (agents.length > 0)
        return table(
          HEADS,
          agents.map((agent) => cells(agent, session.now())),
          session.out.columns,
        );
      session.none('No agents. Register one with: agents register ops');
      return [];
    },
    ids: () => agents.map(({ id }) => id),
  });
};

const HEADS = [
  { head: 'agent' },
  { head: 'name', gives: true },
  { head: 'status' },
  { head: 'last seen' },
  { head: 'capabilities', gives: true },
];

const STYLES = { idle: 'green', busy: 'yellow', offline: 'gray' } as const;

function cells(agent: Agent, nowMs: number): Piece[] {
  return [
    agent.id,
    agent.name ?? '-',
    styled(STYLES[agent.status], agent.status),
    agent.last_seen_at === null ? 'never' : relative(agent.last_seen_at, nowMs),
    agent.capabilities.length === 0 ? '-' : agent.capabilities.join(', '),
  ];
}

export const getAgent: Handler = async (session, { args: [id = ''] }) => {
  const client = await session.client();
  const [agent, unread] = await Promise.all([client.agents.get(id), client.messages.countUnread(id)]);
  session.out.result({
    value: { ...agent, unread },
    lines: (): Line[] => [
      fact('agent', agent.id),
      fact('name', agent.name ?? '-'),
      [styled('dim', 'status'.padEnd(12)), ' ', styled(STYLES[agent.status], agent.status)],
      fact('last seen', agent.last_seen_at === null ? 'never' : relative(agent.last_seen_at, session.now())),
      fact('can do', agent.capabilities.length === 0 ? '-' : agent.capabilities.join(', ')),
      fact('unread', String(unread)),
    ],
    ids: () => [agent.id],
  });
};

export const registerAgent: Handler<{ readonly capability?: readonly string[] }> = async (
  session,
  { args: [id = '', name], options: { capability } },
) => {
  const client = await session.client();
  const agent = await client.agents.register({ id, ...given({ name, capabilities: capability }) });
  session.out.result({
    value: agent,
    lines: () => [`${agent.id} is registered${agent.name === null ? '' : ` as ${agent.name}`}.`],
    ids: () => [agent.id],
  });
};

export const removeAgent: Handler<{ readonly yes?: boolean }> = async (
  session,
  { args: [id = ''], options },
) => {
  await confirm(session, `Forget the agent ${id}, and what waits for it?`, options.yes);
  await (await session.client()).agents.remove(id);
  session.out.result({ value: { id, removed: true }, lines: () => [`${id} is forgotten.`] });
};
