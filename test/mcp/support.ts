/** The official client, over either transport. */

import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { join } from 'node:path';
import { readFileSync } from 'node:fs';

export type TransportName = 'http' | 'stdio';
export const TRANSPORTS: readonly TransportName[] = ['http', 'stdio'];

interface Reach {
  readonly url: string;
  readonly token: string;
}

export interface McpClient extends AsyncDisposable {
  readonly client: Client;
  /** The names of the tools that were called. */
  readonly called: Set<string>;
  /** What a tool answers, or what it refuses with. */
  readonly call: (tool: string, given?: Record<string, unknown>) => Promise<Json>;
  close(): Promise<void>;
}

export type Json = Record<string, unknown> & { readonly refused?: unknown };

export const ENTRY = join(import.meta.dirname, '../../bin/spine.cjs');

export async function openClient(name: TransportName, reach: Reach): Promise<McpClient> {
  const client = new Client({ name: 'test', version: '1.0.0' });
  await client.connect(name === 'http' ? httpTransport(reach) : stdioTransport(reach));
  const called = new Set<string>();
  // Ends the session, as a client does that will not come back.
  const close = async (): Promise<void> => {
    const { transport } = client;
    // A token that is good for nothing any more ends no session either.
    if (transport instanceof StreamableHTTPClientTransport)
      await transport.terminateSession().catch(() => undefined);
    await client.close();
  };
  return {
    client,
    called,
    call: async (tool, given = {}) => {
      called.add(tool);
      return resultIn(await client.callTool({ name: tool, arguments: given }));
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

function httpTransport({ url, token }: Reach): Transport {
  const headers = { authorization: `Bearer ${token}` };
  return new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { requestInit: { headers } });
}

function stdioTransport({ url, token }: Reach): Transport {
  return new StdioClientTransport({
    command: process.execPath,
    args: [ENTRY, 'mcp'],
    env: { PATH: process.env['PATH'] ?? '', SPINE_URL: url, SPINE_TOKEN: token },
    stderr: 'inherit',
  });
}

export function resultIn(result: unknown): Json {
  const { content, isError } = result as { content: readonly { readonly text: string }[]; isError?: boolean };
  const answer = JSON.parse(content[0]?.text ?? 'null') as Json;
  return isError === true ? { ...answer, refused: answer['error'] } : answer;
}

export function packageVersion(): string {
  const manifest = readFileSync(join(import.meta.dirname, '../../package.json'), 'utf8');
  return (JSON.parse(manifest) as { version: string }).version;
}
