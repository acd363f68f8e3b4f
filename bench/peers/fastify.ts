/** A bare Fastify in a process of its own that parses a job and answers JSON: what HTTP alone costs. */

import { fork } from 'node:child_process';
import { once } from 'node:events';
import { httpClient } from '../../test/support/http.ts';
import type { Queue } from '../queue.ts';

const SERVER = new URL('fastify-server.ts', import.meta.url);
const NOT_A_QUEUE = 'bare Fastify keeps no jobs';

export async function openFastify(connections: number): Promise<Queue> {
  const server = fork(SERVER);
  const [url] = (await once(server, 'message')) as [string];
  const client = httpClient(url, { sockets: connections });
  return {
    add: async (params) => {
      const { status } = await client.post('/jobs', { target: 'left-claw', params });
      if (status !== 201) throw new Error(`POST /jobs answered ${status}`);
    },
    addMany: () => Promise.reject(new Error(NOT_A_QUEUE)),
    work: () => Promise.reject(new Error(NOT_A_QUEUE)),
    left: async () => (await client.get<{ made: number }>('/made')).body.made,
    close: async () => {
      client.close();
      server.disconnect();
    },
  };
}
