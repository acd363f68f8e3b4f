import { after, suite } from 'node:test';
import { checked } from '../http/description.ts';
import type { ServerOptions, TestServer } from '../support/server.ts';
import { accessCases } from './spine-access.ts';
import { attemptCases } from './spine-attempts.ts';
import { blobCases } from './spine-blobs.ts';
import { eventCases } from './spine-events.ts';
import type { Start } from './spine-cases.ts';
import { jobCases } from './spine-jobs.ts';
import { lifecycleCases } from './spine-lifecycle.ts';
import { limitCases } from './spine-limits.ts';
import { nativeCases } from './spine-native.ts';
import { nextCases } from './spine-next.ts';
import { reaperCases } from './spine-reaper.ts';
import { steeringCases } from './spine-steering.ts';
import { tokenCases } from './spine-tokens.ts';

export interface ContractStore {
  readonly name: string;
  /** Why the whole suite cannot run here. */
  readonly skip?: string | false;
  readonly cases: readonly Cases[];
  readonly start: (options?: ServerOptions) => Promise<TestServer>;
}

type Cases = (start: Start) => void;

/** Where the store has a hand in the answer: what is found, who gets it, when, and what is told of it. */
export const ON_EVERY_STORE: readonly Cases[] = [
  jobCases,
  lifecycleCases,
  reaperCases,
  nextCases,
  eventCases,
  attemptCases,
];

/** Doors know no store, and every command is tested on each below them: the rest of the contract is held once. */
export const WHOLE: readonly Cases[] = [
  ...ON_EVERY_STORE,
  accessCases,
  blobCases,
  nativeCases,
  steeringCases,
  tokenCases,
  limitCases,
];

/** What Spine v0 promises and what came since, held against a real listening server. */
export function spineContract({ name, skip = false, cases, start: startPlain }: ContractStore): void {
  const startOwn = async (options?: ServerOptions) => withChecks(await startPlain(options));
  suite(`the Spine contract over ${name}`, { skip }, () => {
    const { start, stop } = sharing(startOwn);
    after(stop);
    for (const declare of cases) declare(start);
  });
}

/** To start a server takes longer than most tests of it: whoever wants nothing special gets the same one. */
export function sharing<Server extends { stop(): Promise<void> }, More extends readonly unknown[] = []>(
  startOwn: (options?: ServerOptions, ...more: More) => Promise<Server>,
): { readonly start: typeof startOwn; readonly stop: () => Promise<void> } {
  let common: Promise<Server> | undefined;
  const stays = { value: async () => {} };
  return {
    start: async (options, ...more) => {
      if (options !== undefined) return startOwn(options, ...more);
      // A copy would read the changing properties (pid, running) only once.
      return Object.create(await (common ??= startOwn(undefined, ...more)), {
        stop: stays,
        [Symbol.asyncDispose]: stays,
      }) as Server;
    },
    stop: async () => (await common)?.stop(),
  };
}

/** Every answer that a test gets is also held against the API's description. */
export function withChecks(server: TestServer): TestServer {
  const clients = ['head', 'left', 'right', 'anyone'] as const;
  // A copy would read the changing properties (pid, running) only once.
  return Object.create(
    server,
    Object.fromEntries(clients.map((name) => [name, { value: checked(server[name]) }])),
  ) as TestServer;
}
