/** Keeps webhooks from calling what is inside: the address that is connected to is the one that was judged. */

import type { LookupAddress, LookupOptions } from 'node:dns';
import { isInner } from '../domain/inner-address.ts';
import { INNER_PROBLEM, isAllowedHost, webhookUrlProblem } from '../domain/webhook-url.ts';
import { SendError } from './channel.ts';

/** Every address of a name, as node:dns finds them. */
export type Resolve = (hostname: string) => Promise<readonly LookupAddress[]>;

type Found = (error: Error | null, address: string | LookupAddress[], family?: number) => void;

const RESOLVE_MS = 5_000;

export class AddressGuard {
  readonly #allowedHosts: readonly string[];
  readonly #resolve: Resolve;

  constructor(allowedHosts: readonly string[], resolve: Resolve = resolveAll) {
    this.#allowedHosts = allowedHosts;
    this.#resolve = resolve;
  }

  /** For the moment of saving: a name that does not resolve now is judged when it is called. */
  async problem(url: string): Promise<string | null> {
    const problem = webhookUrlProblem(url, this.#allowedHosts);
    if (problem !== null) return problem;
    const { hostname } = new URL(url);
    if (isAllowedHost(hostname, this.#allowedHosts) || hostname.startsWith('[')) return null;
    const found = await Promise.race([this.#resolve(hostname), late()]).catch(() => []);
    return found.some(({ address }) => isInner(address)) ? INNER_PROBLEM : null;
  }

  /** For the moment of sending. Throws when the text of the URL is enough to refuse it. */
  check(url: string): URL {
    const problem = webhookUrlProblem(url, this.#allowedHosts);
    if (problem !== null) throw new SendError(`the webhook ${problem}`, { final: true });
    return new URL(url);
  }

  /** What a connection asks for the address of its name: resolved once, judged, and then connected to. */
  readonly lookup = (hostname: string, options: LookupOptions, found: Found): void => {
    this.#resolve(hostname).then(
      (addresses) => {
        const inner = addresses.some(({ address }) => isInner(address));
        if (inner && !isAllowedHost(hostname, this.#allowedHosts))
          return found(new SendError(`the webhook ${INNER_PROBLEM}`, { final: true }), []);
        const [first] = addresses;
        if (first === undefined) return found(new Error('no address'), []);
        if (options.all === true) return found(null, [...addresses]);
        return found(null, first.address, first.family);
      },
      (error: unknown) => found(error instanceof Error ? error : new Error(String(error)), []),
    );
  };
}

async function resolveAll(hostname: string): Promise<LookupAddress[]> {
  const { lookup } = process.getBuiltinModule('node:dns/promises');
  return lookup(hostname, { all: true });
}

function late(): Promise<never> {
  return new Promise((_, reject) => {
    AbortSignal.timeout(RESOLVE_MS).addEventListener('abort', () => reject(new Error('no answer in time')));
  });
}
