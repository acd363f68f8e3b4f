/** Another server's `/api/sessions`, as the text has it, and strict: what was asked of it, and what becomes of it. */

import { execFile } from 'node:child_process';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TestContext } from 'node:test';
import { promisify } from 'node:util';

export interface SessionServer {
  readonly url: string;
  readonly spawned: Record<string, unknown>[];
  readonly deleted: string[];
  refuse: number | 'hang' | null;
  /** Lists nobody, and knows each by its label: so many have ended since. */
  onlyByLabel: boolean;
  /** Looks around before a spawn is answered. */
  onSpawn: () => Promise<void>;
  /** Looks around before an end is answered. */
  onDelete: (label: string) => Promise<void>;
  /** Null makes it vanish. */
  end(label: string, how: object | null): void;
}

export async function sessionServer(t: TestContext): Promise<SessionServer> {
  const sessions = new Map<string, object>();
  const state: SessionServer = {
    url: '',
    spawned: [],
    deleted: [],
    refuse: null,
    onlyByLabel: false,
    onSpawn: async () => undefined,
    onDelete: async () => undefined,
    end: (label, how) =>
      void (how === null ? sessions.delete(label) : sessions.set(label, { id: label, ...how })),
  };
  const http: Server = createServer((request, response) => {
    let text = '';
    request.on('data', (chunk: Buffer) => (text += chunk.toString()));
    request.on('end', () => {
      const answer = (status: number, body: unknown): void => {
        response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
      };
      if (request.method === 'POST' && request.url === '/api/sessions/spawn') {
        if (state.refuse === 'hang') return;
        if (state.refuse !== null) return answer(state.refuse, {});
        const body = JSON.parse(text) as Record<string, unknown>;
        state.spawned.push(body);
        sessions.set(String(body['sessionLabel']), { id: body['sessionLabel'] });
        void state.onSpawn().then(() => answer(200, { ok: true }));
        return;
      }
      if (request.method === 'GET' && request.url === '/api/sessions')
        return answer(200, state.onlyByLabel ? [] : [...sessions.values()]);
      const label = /^\/api\/sessions\?label=(.*)$/.exec(request.url ?? '')?.[1];
      if (request.method === 'GET' && label !== undefined && state.onlyByLabel)
        return answer(200, [sessions.get(decodeURIComponent(label))]);
      if (request.method === 'DELETE') {
        const label = decodeURIComponent(request.url?.split('/').at(-1) ?? '');
        state.deleted.push(label);
        void state.onDelete(label).then(
          () => answer(sessions.delete(label) ? 200 : 404, {}),
          () => answer(503, {}),
        );
        return;
      }
      return answer(404, {});
    });
  });
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    http.closeAllConnections();
    http.close();
  });
  return Object.assign(state, { url: `http://127.0.0.1:${(http.address() as AddressInfo).port}` });
}

/** Does what the prompt tells an agent to do at its end: the very command, with nothing in its environment. */
export async function asPrompted(prompt: string): Promise<void> {
  const command = /```bash\n(curl .*?)```/s.exec(prompt)?.[1];
  if (command === undefined) throw new Error('the prompt has no command');
  const { PATH } = process.env;
  await promisify(execFile)('/bin/sh', ['-c', command.replace('curl', 'curl -sf')], { env: { PATH } });
}
