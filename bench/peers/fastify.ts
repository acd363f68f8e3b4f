/** A bare Fastify in a process of its own that parses a job and answers JSON: what HTTP alone costs. */

import { fork } from 'node:child_process';
import { once } from 'node:events';
import { httpCaller } from '../http-caller.ts';
import type { Queue } from '../queue.ts';

const SERVER = new URL('fastify-server.ts', import.meta.url);
const NOT_A_QUEUE = 'bare Fastify keeps no jobs';

export async function openFastify(connections: number): Promise<Queue> {
  const server = fork(SERVER);
  const [url] = (await once(server, 'message')) as [string];
  const caller = httpCaller(url, connections);
  return {
    add: (params) => caller.post('/jobs', { target: 'left-claw', params }),
    addMany: () => Promise.reject(new Error(NOT_A_QUEUE)),
    work: () => Promise.reject(new Error(NOT_A_QUEUE)),
    left: async () => (await caller.get<{ made: number }>('/made')).made,
    close: async () => {
      caller.close();
      server.disconnect();
    },
  };
}
