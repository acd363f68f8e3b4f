/** Servers that are one installation: one database, a data dir for each, and no tokens in their settings. */

import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { httpClient, type HttpClient } from '../support/http.ts';
import { emptyDatabase } from '../support/postgres.ts';
import { startServer, type TestServer } from '../support/server.ts';

const NO_TOKENS = { HEAD_TOKEN: '', LEFT_CLAW_TOKEN: '', RIGHT_CLAW_TOKEN: '' };
const ENTRY = join(import.meta.dirname, '../../bin/spine.cjs');

export interface Made {
  readonly head: string;
  readonly left_claw: string;
  readonly right_claw: string;
}

export interface Installation {
  readonly url: string;
  /** A new data dir for another server. */
  dataDir(): string;
  start(dataDir: string, env?: Readonly<Record<string, string>>): Promise<TestServer>;
  client(server: TestServer, token: string): HttpClient;
  /** Runs `spine` as somebody at that machine would. */
  spine(
    dataDir: string,
    args: readonly string[],
    env?: Readonly<Record<string, string>>,
  ): { code: number | null; stdout: string; stderr: string };
}

/** Everything of it is gone after the test. */
export async function newInstallation(t: TestContext): Promise<Installation> {
  const database = await emptyDatabase(process.env['TEST_POSTGRES_URL'] ?? '');
  t.after(() => database.drop());
  const root = mkdtempSync(join(tmpdir(), 'spine-installation-'));
  t.after(() => rmSync(root, { recursive: true, force: true }));
  let machines = 0;
  return {
    url: database.url,
    dataDir: () => join(root, `machine-${++machines}`),
    start: async (dataDir, env = {}) => {
      const server = await startServer({ dataDir, databaseUrl: database.url, env: { ...NO_TOKENS, ...env } });
      t.after(() => server.stop());
      return server;
    },
    client: ({ url }, token) => {
      const client = httpClient(url, { token });
      t.after(() => client.close());
      return client;
    },
    spine: (dataDir, args, more = {}) => {
      const { PATH, HOME } = process.env;
      const env = { PATH, HOME, DATABASE_URL: database.url, ...more };
      const ran = spawnSync(process.execPath, [ENTRY, ...args, '--data-dir', dataDir], {
        encoding: 'utf8',
        env,
      });
      return { code: ran.status, stdout: ran.stdout, stderr: ran.stderr };
    },
  };
}

export function madeIn(dataDir: string): Made | null {
  const file = join(dataDir, 'tokens.json');
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Made) : null;
}
