/** The door of the Model Context Protocol: the routes of the other doors as tools, over Streamable HTTP. */

import { SPINE_STATUS_OF } from '../../../domain/statuses.ts';
import { bearerTokens } from '../../auth.ts';
import type { Door } from '../../door.ts';
import { nativeErrors } from '../../errors.ts';
import type { Parts } from '../../parts.ts';
import { type Call, route, type Route } from '../../routes.ts';
import { Type } from '../../typebox.ts';
import { endSession, exchange } from './exchange.ts';
import { ownTools } from './own-tools.ts';
import { Resources } from './resources.ts';
import { McpServer } from './server.ts';
import { Sessions } from './sessions.ts';
import { routeTool } from './tool.ts';
import { TOOLS } from './tools.ts';

const EVERYONE = ['head', 'worker', 'viewer', 'run'] as const;

const Headers = Type.Object({
  'mcp-session-id': Type.Optional(
    Type.String({ description: 'the session that the answer to initialize named in the same header' }),
  ),
  'mcp-protocol-version': Type.Optional(
    Type.String({ description: 'the version of the protocol that the answer to initialize named' }),
  ),
});

const Message = Type.Unsafe({
  anyOf: [
    { type: 'object', description: 'a message of JSON-RPC 2.0' },
    { type: 'array', items: { type: 'object' }, description: 'several, in versions that allow it' },
  ],
});

export function mcpDoor(others: readonly Door[]): Door {
  // Made for whoever speaks first: most servers are never asked, and each tool has its schema.
  let server: McpServer | undefined;
  const opened = (): McpServer => (server ??= serverOver(others.flatMap(({ routes }) => routes)));
  return {
    name: 'mcp',
    prefixes: ['/mcp'],
    routes: [
      route({
        method: 'POST',
        path: '/mcp',
        name: 'exchangeMessages',
        // What the messages ask for is counted by itself.
        load: 'lease',
        about: 'Speak the Model Context Protocol: one message of JSON-RPC, and its answer.',
        who: EVERYONE,
        forShownTokens: true,
        headers: Headers,
        body: Message,
        answer: Message,
        silent: 202,
        errors: ['not_found'],
        handle: (call) => exchange(call, opened(), sessionsOf(call)),
      }),
      route({
        method: 'DELETE',
        path: '/mcp',
        name: 'endMcpSession',
        load: 'lease',
        about: 'End a session of the Model Context Protocol; what it waits for is called off.',
        who: EVERYONE,
        forShownTokens: true,
        headers: Headers,
        status: 204,
        answer: Type.Unknown(),
        errors: ['not_found'],
        handle: async (call) => endSession(call, sessionsOf(call)),
      }),
    ],
    auth: bearerTokens,
    errors: nativeErrors,
    statusOf: SPINE_STATUS_OF,
    tags: [{ name: 'mcp', about: 'The Model Context Protocol.' }],
    schemas: {},
    answerHeaders: ['mcp-session-id'],
  };
}

function serverOver(routes: readonly Route[]): McpServer {
  const named = (name: string): Route => {
    const found = routes.find((one) => one.name === name);
    if (found === undefined) throw new Error(`No door has the route ${name}.`);
    return found;
  };
  const tools = TOOLS.map((row) => routeTool(row, named(row.route)));
  const resources = new Resources({
    listJobs: named('listJobs'),
    getJob: named('getJob'),
    listTypes: named('listTypes'),
    getType: named('getType'),
  });
  return new McpServer(
    [...tools, ...ownTools(named('attachBlob'), named('downloadBlob'), named('getJob'))],
    resources,
  );
}

/** A door is the same for all servers of a process; each of them has its own sessions. */
const sessionsByServer = new WeakMap<Parts, Sessions>();

function sessionsOf({ parts }: Call): Sessions {
  let sessions = sessionsByServer.get(parts);
  if (sessions === undefined) sessionsByServer.set(parts, (sessions = new Sessions(parts.clock)));
  return sessions;
}
