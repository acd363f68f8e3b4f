/**
 * The messages of one lease. The server takes the next call for the proof that its last answer came; after a call without
 * an answer that is not so, and the next one says what has come instead.
 */

import type { AgentMessage } from './message-types.ts';

export class LeaseMail {
  #unconfirmed: string[];
  #unanswered = false;

  constructor(claimed: readonly AgentMessage[]) {
    this.#unconfirmed = claimed.map(({ id }) => id);
  }

  /** For a call that ends the lease; nothing when there is nothing to tell apart. */
  received(): { readonly received?: readonly string[] } {
    return this.#unanswered ? { received: [...this.#unconfirmed] } : {};
  }

  /** For the next heartbeat: until it is answered, whatever it brings counts as lost. */
  asking(): { readonly received?: readonly string[] } {
    const said = this.received();
    this.#unanswered = true;
    return said;
  }

  /** The server has heard what was received before, and sent these. */
  answered(messages: readonly AgentMessage[]): void {
    this.#unanswered = false;
    this.#unconfirmed = messages.map(({ id }) => id);
  }
}
