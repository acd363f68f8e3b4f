/** Whoever starts a worker with the operator's own token works with less: a token for its slot, which ends with it. */

import { createHash } from 'node:crypto';
import { Caller } from '../client/caller.ts';
import { SpineApiError } from '../client/errors.ts';
import { nodePlatform } from '../client/platform-node.ts';
import { lastingPlace, type WorkerProcess } from '../worker/service/predecessor.ts';

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
/** With the number of a process it is no longer than a name may be. */
const SLOT_CHARS = 40;
const HOST_CHARS = 24;
const REST_CHARS = 12;

/** Rejects while the server cannot be asked. */
export async function workerToken(
  baseUrl: string,
  token: string | undefined,
  slot: string,
  own: WorkerProcess,
): Promise<WorkerToken> {
  const caller = new Caller({ baseUrl, token, retries: 0, timeoutMs: CALL_MS, platform: nodePlatform });
  const prefix = prefixOf(slot, own);
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

/** People read the slot and the machine; two of one name count their processes alike, so that only the rest tells them apart. */
function prefixOf(slot: string, own: WorkerProcess): string {
  const whole = [slot, own.host, lastingPlace(own)].join(' ');
  const rest = createHash('sha256').update(whole).digest('hex').slice(0, REST_CHARS);
  const host = own.host.replace(/[^\w.-]/g, '_').slice(0, HOST_CHARS);
  return `worker-${slot.slice(0, SLOT_CHARS)}-${host}-${rest}-`;
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
