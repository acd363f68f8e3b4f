/** Passwords: kept as argon2id, judged beside the event loop, one at a time: about thirty a second, and never two processors. */

import { argon2, timingSafeEqual } from 'node:crypto';
import { SpineError } from '../domain/error.ts';
import { LIMITS } from '../domain/limits.ts';

/** 19 MiB and two passes, about 30 ms: what OWASP names as the least for argon2id. */
const COST = { memory: 19_456, passes: 2, parallelism: 1, tagLength: 32 } as const;
type Cost = Readonly<Record<keyof typeof COST, number>>;
const KEPT = /^\$argon2id\$v=19\$m=(\d{1,7}),t=(\d{1,3}),p=(\d{1,2})\$([\w+/-]{16,64})\$([\w+/]{43})$/;

export class Passwords {
  readonly #waiting: (() => void)[] = [];
  #busy = false;

  /** In the usual text form: how it was made, salt and digest. */
  async kept(password: string, salt: string): Promise<string> {
    const digest = await this.#derived(password, salt, COST);
    const { memory, passes, parallelism } = COST;
    const nonce = Buffer.from(salt).toString('base64').replaceAll('=', '');
    return `$argon2id$v=19$m=${memory},t=${passes},p=${parallelism}$${nonce}$${digest.toString('base64').replaceAll('=', '')}`;
  }

  /** Of nobody's password nothing is right, and that takes as long. */
  async isRight(password: string, kept: string | null): Promise<boolean> {
    const parts = KEPT.exec(kept ?? '');
    if (parts === null) {
      await this.#derived(password, 'nobody has this salt', COST);
      return false;
    }
    const [, memory, passes, parallelism, nonce = '', digest = ''] = parts;
    const cost = { memory: Number(memory), passes: Number(passes), parallelism: Number(parallelism) };
    const salt = Buffer.from(nonce, 'base64').toString();
    const derived = await this.#derived(password, salt, { ...cost, tagLength: COST.tagLength });
    return timingSafeEqual(derived, Buffer.from(digest, 'base64'));
  }

  async #derived(password: string, salt: string, cost: Cost): Promise<Buffer> {
    await this.#enter();
    try {
      return await derived(password, salt, cost);
    } finally {
      this.#leave();
    }
  }

  async #enter(): Promise<void> {
    if (!this.#busy) {
      this.#busy = true;
      return;
    }
    if (this.#waiting.length >= LIMITS.waitingLogins) throw new SpineError('overloaded', { retryAfterS: 1 });
    await new Promise<void>((begin) => this.#waiting.push(begin));
  }

  #leave(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#busy = false;
    else next();
  }
}

function derived(password: string, salt: string, cost: Cost): Promise<Buffer> {
  // The same letters may be written in two ways.
  const parameters = { ...cost, message: password.normalize('NFC'), nonce: Buffer.from(salt) };
  return new Promise((resolve, reject) => {
    argon2('argon2id', parameters, (error, digest) => (error === null ? resolve(digest) : reject(error)));
  });
}
