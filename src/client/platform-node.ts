/** The platform of programs, as browsers have none: connections that are kept, and signals. */

import { type Platform, systemPlatform } from './platform.ts';
import { fetchTransport } from './transport-fetch.ts';
import type { Transport } from './transport.ts';

export const nodePlatform: Platform = {
  ...systemPlatform,
  transport: keptConnections,
  onTermination: async (task) => {
    if (!hasNode()) return () => {};
    const { onTermination } = await import('./signals-node.ts');
    return onTermination(task);
  },
};

/** Where node:http is there it carries three times the requests of fetch. */
async function keptConnections(): Promise<Transport> {
  return hasNode() ? (await import('./transport-node.ts')).nodeTransport() : fetchTransport();
}

/** Whether node:http can be imported. Bun and Deno say so too, and have it. */
function hasNode(): boolean {
  const { process } = globalThis as { process?: { versions?: { node?: unknown } } };
  return typeof process?.versions?.node === 'string';
}
