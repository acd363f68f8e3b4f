/** A way to people outside. Each file beside this one is such a way. */

import type { Button } from '../domain/button.ts';

export interface Channel {
  /** The text in pieces that the other side takes, in order. */
  parts(text: string, target: string): readonly string[];
  /** One place takes no more than a message in this time. */
  readonly paceMs?: number;
  /** Resolves with what the other side answered when it has taken it; throws a SendError when it has not. */
  send(message: OutgoingMessage, signal: AbortSignal): Promise<Proof>;
}

export interface OutgoingMessage {
  /** The same for every try, so that the receiver can drop repeats. */
  readonly id: string;
  readonly kind: string;
  readonly target: string;
  /** One piece of the text. */
  readonly text: string;
  /** What people can press below it, where a channel has such a thing; with the last piece alone. */
  readonly buttons?: readonly Button[] | null;
  readonly createdAt: number;
  readonly runId: string | null;
  readonly scheduleId: string | null;
}

/** What shows that the other side has it: its id there, or the status of its answer. */
export type Proof = Readonly<Record<string, string | number>>;

export interface SendTrouble {
  /** It would be refused every time. */
  readonly final?: boolean;
  /** How long the other side wants to be left alone. */
  readonly retryAfterMs?: number;
  /** What the place is called by now; there it would be taken. */
  readonly movedTo?: string;
}

/** Why it was not taken, in words that hold no secret: they are kept and shown. */
export class SendError extends Error {
  readonly final: boolean;
  readonly retryAfterMs: number | null;
  readonly movedTo: string | null;

  constructor(message: string, { final = false, retryAfterMs, movedTo }: SendTrouble = {}) {
    super(message);
    this.final = final;
    this.movedTo = movedTo ?? null;
    this.retryAfterMs = retryAfterMs ?? null;
  }
}
