/** A call of a model that Spine itself has made, and what it cost. */

export interface ModelCall {
  readonly no: number;
  readonly at: number;
  readonly purpose: 'advice';
  /** What it was about: the fingerprint of a failure. */
  readonly subject: string;
  readonly model: string;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly tookMs: number;
  readonly error: string | null;
}

/** What all of them took together. */
export interface AdviceTaken {
  /** How often a model was asked, with an answer or without. */
  readonly calls: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
}
