/** A session: one run of an agent or program on one prompt. Every kind of session is begun and ended in the same way. */

import type { AskAndWait } from '../../client/errors.ts';
import type { LogLevel } from '../../client/types.ts';

export interface SessionOrder {
  /** Its name, chosen by whoever begins it. */
  readonly id: string;
  readonly prompt: string;
  /** The agent's conversation about this task, the same in every attempt, for programs that keep conversations; null where there is none. */
  readonly conversation: string | null;
  /** An earlier session may have begun it. */
  readonly continues: boolean;
  readonly model: string;
  readonly thinking: string;
  readonly channel: string;
  /** What the task names; null where it names none. */
  readonly workingDir: string | null;
  /** What the session is told of its task, as variables of its environment. */
  readonly env: Readonly<Record<string, string>>;
  /** How long its holder may be silent: a session that hears nothing for that long ends by itself. */
  readonly leaseMs: number;
  readonly timeoutMs: number;
  /** Whether its agent may ask and wait: somebody tells a later session of the same task what was answered. */
  readonly mayAsk: boolean;
  /** What the task itself asks for, within what the worker allows; null where it asks for nothing. */
  readonly askedMs: number | null;
}

/** How a session ended. Without words of its own, an end that says nothing went wrong is no evidence of anything done. */
export interface SessionEnd {
  readonly ok: boolean;
  /** What it said, or printed. */
  readonly text: string;
  /** Why it is not well. */
  readonly reason: string | null;
  /** Whatever else is known: the exit code, what it cost, under which name it can be resumed. */
  readonly facts: Readonly<Record<string, unknown>>;
  /** What it must know before it can go on: then it has ended neither well nor badly. */
  readonly asked?: AskAndWait;
}

export interface Session {
  /** Rejects with a PutOff where nothing was begun after all, else where nobody knows its end: it may be at work still. */
  readonly ended: Promise<SessionEnd>;
  /** Ends it, with all that it started. Rejects while it may still be at work. */
  kill(): Promise<void>;
}

/** Hears what a session prints, while it runs. */
export type Say = (text: string, level: LogLevel) => void;

export interface SessionRunner {
  readonly name: string;
  /** It understands a reply that asks. */
  readonly hearsQuestions?: true;
  /** Whether its sessions find the variables of their order in their environment; else the prompt says what they need. */
  readonly hasEnvironment: boolean;
  /** Where certainly nothing was begun it rejects with a JobFailure, or with a PutOff where no task could be begun now. */
  begin(order: SessionOrder, say: Say): Promise<Session>;
  /** Ends what was left behind under this name. Rejects while it may still be at work. */
  endLeftover(id: string): Promise<void>;
}

export function failedEnd(reason: string, facts: SessionEnd['facts'] = {}, text = ''): SessionEnd {
  return { ok: false, text, reason, facts };
}
