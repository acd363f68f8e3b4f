/** Whoever starts a worker with the operator's own token works with less: a token for its slot, which ends with it. */

import { Caller } from '../client/caller.ts';
import { SpineApiError } from '../client/errors.ts';
import { nodePlatform } from '../client/platform-node.ts';

export interface WorkerToken {
  readonly token: string | undefined;
  /** The token is not wanted any more. */
  revoke(): Promise<void>;
}

interface Listed {
  readonly name: string;
  readonly revokedAt?: unknown;
}

const CALL_MS = 10_000;

/** Rejects while the server cannot be asked. */
export async function workerToken(
  baseUrl: string,
  token: string | undefined,
  slot: string,
  host: string,
): Promise<WorkerToken> {
  const caller = new Caller({ baseUrl, token, retries: 0, timeoutMs: CALL_MS, platform: nodePlatform });
  const prefix = `worker-${slot}-${host.replace(/[^\w.-]/g, '_').slice(0, 40)}-`;
  const name = `${prefix}${process.pid}`;
  try {
    await revokeOrphans(caller, prefix);
    const made = await caller.json<{ token: string }>({
      method: 'POST',
      path: '/tokens',
      json: { name, role: 'worker', targets: [slot, 'any'] },
      repeatable: false,
    });
    const revoke = async (): Promise<void> => {
      await remove(caller, name).catch(() => undefined);
      await caller.close();
    };
    return { token: made.token, revoke };
  } catch (error) {
    await caller.close();
    // It is a worker's own token already.
    if (error instanceof SpineApiError && (error.status === 401 || error.status === 403))
      return { token, revoke: async () => undefined };
    throw error;
  }
}

/** Those of processes of this machine that are gone. */
async function revokeOrphans(caller: Caller, prefix: string): Promise<void> {
  const { tokens } = await caller.json<{ tokens: Listed[] }>({
    method: 'GET',
    path: '/tokens',
    repeatable: true,
  });
  for (const { name, revokedAt } of tokens) {
    const pid = name.startsWith(prefix) ? Number(name.slice(prefix.length)) : Number.NaN;
    if (Number.isInteger(pid) && !revokedAt && (pid === process.pid || !isAlive(pid)))
      await remove(caller, name);
  }
}

async function remove(caller: Caller, name: string): Promise<void> {
  await caller.json({ method: 'DELETE', path: `/tokens/${name}`, repeatable: true });
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
