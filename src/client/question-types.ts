/** Questions that jobs ask, and what is answered. */

export interface NewQuestion {
  readonly question: string;
  /** `@name` for an alias; else the name of an agent, or of a person that head speaks for. */
  readonly to: string;
  /** The only answers there are. */
  readonly choices?: readonly string[];
  /** JSON Schema of the answer. */
  readonly schema?: unknown;
  /** How long to wait for the answer. */
  readonly timeoutMs: number;
  /** The answer when nobody gives one in time; without it the attempt has failed then. */
  readonly default?: unknown;
}

/** What the holder of a job is told of a question that an earlier one asked. */
export interface Answer {
  readonly question: string;
  readonly answer: unknown;
  /** Who gave it; `timeout` when nobody did in time. */
  readonly by: string;
  readonly at: string;
}

export type QuestionStatus = 'open' | 'answered' | 'timed_out' | 'closed';

export interface Question extends Omit<NewQuestion, 'timeoutMs'> {
  readonly id: string;
  readonly jobId: string;
  /** That of the job. */
  readonly title?: string;
  readonly askedBy: string;
  readonly askedAt: string;
  readonly expiresAt: string;
  readonly status: QuestionStatus;
  readonly answer?: unknown;
  readonly answeredBy?: string;
  readonly answeredAt?: string;
}

export interface QuestionFilter {
  readonly open?: boolean;
  readonly to?: string;
  readonly job?: string;
  readonly before?: number;
  /** Questions on one page, at most 1,000. */
  readonly limit?: number;
}

export interface QuestionPage {
  readonly questions: readonly Question[];
  /** The `before` of the next page; null when this is the last. */
  readonly nextBefore: number | null;
}
