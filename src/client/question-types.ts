/** Questions that jobs ask, and what is answered. */

export interface NewQuestion {
  /** What is asked. */
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
  /** The id of the question. */
  readonly question: string;
  /** What was answered. */
  readonly answer: unknown;
  /** Who gave it; `timeout` when nobody did in time. */
  readonly by: string;
  /** When it was answered. */
  readonly at: string;
}

export type QuestionStatus = 'open' | 'answered' | 'timed_out' | 'closed';

export interface Question extends Omit<NewQuestion, 'timeoutMs'> {
  /** The id. */
  readonly id: string;
  /** The id of the job. */
  readonly jobId: string;
  /** That of the job. */
  readonly title?: string;
  /** Who asked. */
  readonly askedBy: string;
  /** When it was asked. */
  readonly askedAt: string;
  /** Until when an answer counts. */
  readonly expiresAt: string;
  /** Where it stands. */
  readonly status: QuestionStatus;
  /** What was answered. */
  readonly answer?: unknown;
  /** Who answered it. */
  readonly answeredBy?: string;
  /** When it was answered. */
  readonly answeredAt?: string;
}

export interface QuestionFilter {
  /** Only those that wait for an answer, or only the others. */
  readonly open?: boolean;
  /** Only those that are put to this name. */
  readonly to?: string;
  /** Only those of this job. */
  readonly job?: string;
  /** Only what comes before this: nextBefore of the last page. */
  readonly before?: number;
  /** Questions on one page, at most 1,000. */
  readonly limit?: number;
}

export interface QuestionPage {
  /** The questions. */
  readonly questions: readonly Question[];
  /** The `before` of the next page; null when this is the last. */
  readonly nextBefore: number | null;
}
