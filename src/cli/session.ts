/** One run of one command: what it was given, where it writes, and the server it speaks to. */

import type { SpineClient } from '../client/client.ts';
import type { Caller } from '../client/caller.ts';
import { SpineApiError, SpineConnectionError } from '../client/errors.ts';
import { CliError, EXIT, type Failure, failureOf } from './failure.ts';
import type { GlobalFlags, Host, TokenRole } from './host.ts';
import { findToken, findUrl, type Found } from './find-server.ts';
import { Out } from './out.ts';
import type { Vocabulary } from './text/vocabulary.ts';

/** Enough for a server that is busy for a moment; one that is down is reported at once. */
const RETRIES = 2;
/** What agents are given: whoever is to approve and cancel through one says so with --as. */
export const AGENT: TokenRole = 'left-claw';
/** After Ctrl-C a command may tidy up for this long. */
const TIDY_UP_MS = 1_500;

export class Session {
  readonly host: Host;
  readonly flags: GlobalFlags;
  readonly out: Out;
  readonly words: Vocabulary;
  readonly #filters: readonly string[];
  readonly #interrupt = new AbortController();
  readonly #closers: (() => void | Promise<void>)[] = [];
  #listens = false;
  #url: Found | null = null;
  #token: Found | null = null;

  /** The filters are the options that were given to the command, as they were typed. */
  constructor(host: Host, flags: GlobalFlags, words: Vocabulary, filters: readonly string[] = []) {
    this.host = host;
    this.#filters = filters;
    this.flags = flags;
    this.words = words;
    this.out = new Out(host, flags);
  }

  /** Aborts on Ctrl-C. */
  get signal(): AbortSignal {
    return this.#interrupt.signal;
  }

  get url(): string {
    return this.#url?.text ?? '';
  }

  now(): number {
    return this.host.clock.now();
  }

  /** Why a list is empty: with a filter there may be others that it leaves out. */
  none(words: string): void {
    const all = this.#filters.length === 0;
    this.out.info(all ? words : `Nothing here has ${this.#filters.join(' and ')}.`);
  }

  /** A client for this server. Commands that a worker runs name the roles that may; few bring a token of their own. */
  async client(roles: readonly TokenRole[] = ['head'], token?: string): Promise<SpineClient> {
    const { SpineClient } = await import('../client/client.ts');
    const own = token === undefined ? {} : { token };
    const client = new SpineClient({ ...this.#address(roles), ...own, retries: RETRIES });
    this.#closers.push(() => client.close());
    return client;
  }

  /** For routes that the client has no method for. */
  async caller(roles: readonly TokenRole[] = ['head']): Promise<Caller> {
    const [{ Caller }, { nodePlatform }] = await Promise.all([
      import('../client/caller.ts'),
      import('../client/platform-node.ts'),
    ]);
    const settings = { retries: RETRIES, timeoutMs: 30_000, platform: nodePlatform };
    const caller = new Caller({ ...this.#address(roles), ...settings });
    this.#closers.push(() => caller.close());
    return caller;
  }

  /** Whose token it is and where the server was found. */
  located(roles: readonly TokenRole[] = ['head']): { readonly url: Found; readonly token: Found | null } {
    const settings = this.host.server(this.flags);
    const url = findUrl(this.flags, settings);
    return { url, token: findToken(this.flags, settings, url.text, roles) };
  }

  /** Resolves after the delay, rejects on Ctrl-C. */
  sleep(delayMs: number): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.signal.aborted) return reject(interrupted());
      const cancel = this.host.clock.after(delayMs, () => {
        this.signal.removeEventListener('abort', abort);
        resolve();
      });
      const abort = (): void => {
        cancel();
        reject(interrupted());
      };
      this.signal.addEventListener('abort', abort, { once: true });
    });
  }

  /** Turns Ctrl-C into the signal; without it the process would end in the middle of its work. */
  #listenForInterrupt(): void {
    if (this.#listens) return;
    this.#listens = true;
    const stop = this.host.onInterrupt(() => {
      this.#interrupt.abort(interrupted());
      this.#closers.push(this.host.clock.after(TIDY_UP_MS, () => this.host.exit(EXIT.interrupted)));
    });
    this.#closers.push(stop);
  }

  async close(): Promise<void> {
    for (const close of this.#closers) await close();
  }

  /** The failure in the words of somebody who typed a command. */
  explain(error: unknown): Failure {
    const failure = failureOf(this.signal.aborted ? interrupted() : error);
    if (error instanceof SpineConnectionError && failure.exitCode === EXIT.unavailable) {
      const message = `No Spine server answers at ${this.url} (${error.code}).`;
      const hint = 'Start one with: npx spine serve';
      return { ...failure, message, hint };
    }
    if (error instanceof SpineApiError && error.code === 'unauthorized' && !isOfWrongRole(error))
      return this.#refused(failure);
    return failure;
  }

  #refused(failure: Failure): Failure {
    const hint =
      "Pass --token, set SPINE_TOKEN, or name the server's data dir with --data-dir; `npx spine doctor` tells more.";
    const message =
      this.#token === null
        ? `No token was found for ${this.url}.`
        : `The server at ${this.url} does not accept the token from ${this.#token.origin} for this.`;
    return { ...failure, message, hint };
  }

  #address(roles: readonly TokenRole[]): { baseUrl: string; token?: string } {
    this.#listenForInterrupt();
    const settings = this.host.server(this.flags);
    this.#url = findUrl(this.flags, settings);
    this.#token = findToken(this.flags, settings, this.#url.text, roles);
    return { baseUrl: this.#url.text, ...(this.#token && { token: this.#token.text }) };
  }
}

/** The token is known: the message says which one is needed. */
function isOfWrongRole({ details }: SpineApiError): boolean {
  return details['code'] === 'wrong_role';
}

function interrupted(): CliError {
  return new CliError(EXIT.interrupted, 'interrupted', 'Interrupted.');
}
