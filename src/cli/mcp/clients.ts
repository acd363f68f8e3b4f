/** Where MCP clients keep the servers that they know, how they write one down, and where they look for skills. */

import { join } from 'node:path';

export type ClientName = 'claude-code' | 'openclaw' | 'cursor';

export interface Place {
  readonly file: string;
  /** The names of the objects that lead to the entries. */
  readonly path: readonly string[];
}

export interface Reach {
  readonly url: string;
  /** What stands behind `Bearer`. */
  readonly token: string;
}

export interface Start {
  readonly command: string;
  readonly args: readonly string[];
  /** Clients pass on no more of theirs than every program needs. */
  readonly env?: Readonly<Record<string, string>>;
}

interface Client {
  readonly title: string;
  readonly everywhere: (home: string) => Place;
  /** Null where it knows no folders. */
  readonly project: ((folder: string) => Place) | null;
  readonly skills: (home: string) => string;
  readonly projectSkills: (folder: string) => string;
  /** How its files name a variable of the environment. */
  readonly variable: (name: string) => string;
  readonly http: (reach: Reach) => object;
  readonly stdio: (start: Start) => object;
  /** What is left to be done. */
  readonly next: (variable: string) => readonly string[];
}

const bearer = ({ token }: Reach) => ({ Authorization: `Bearer ${token}` });

export const CLIENTS: Readonly<Record<ClientName, Client>> = {
  'claude-code': {
    title: 'Claude Code',
    everywhere: (home) => ({ file: join(home, '.claude.json'), path: ['mcpServers'] }),
    project: (folder) => ({ file: join(folder, '.mcp.json'), path: ['mcpServers'] }),
    skills: (home) => join(home, '.claude', 'skills'),
    projectSkills: (folder) => join(folder, '.claude', 'skills'),
    variable: (name) => `\${${name}}`,
    http: (reach) => ({ type: 'http', url: reach.url, headers: bearer(reach) }),
    stdio: (start) => ({ type: 'stdio', ...start }),
    next: (variable) => [`Start Claude Code where ${variable} is set, and look at /mcp.`],
  },
  cursor: {
    title: 'Cursor',
    everywhere: (home) => ({ file: join(home, '.cursor', 'mcp.json'), path: ['mcpServers'] }),
    project: (folder) => ({ file: join(folder, '.cursor', 'mcp.json'), path: ['mcpServers'] }),
    skills: (home) => join(home, '.cursor', 'skills'),
    projectSkills: (folder) => join(folder, '.cursor', 'skills'),
    variable: (name) => `\${env:${name}}`,
    http: (reach) => ({ url: reach.url, headers: bearer(reach) }),
    stdio: (start) => ({ ...start }),
    next: (variable) => [`Start Cursor where ${variable} is set, and look at its MCP settings.`],
  },
  openclaw: {
    title: 'OpenClaw',
    everywhere: (home) => ({ file: join(home, '.openclaw', 'openclaw.json'), path: ['mcp', 'servers'] }),
    project: null,
    skills: (home) => join(home, '.openclaw', 'skills'),
    projectSkills: (folder) => join(folder, 'skills'),
    variable: (name) => `\${${name}}`,
    http: (reach) => ({ url: reach.url, transport: 'streamable-http', headers: bearer(reach) }),
    stdio: (start) => ({ ...start }),
    next: (variable) => [
      `Write ${variable}=<token> into ~/.openclaw/.env first: its gateway does not start without it.`,
    ],
  },
};
