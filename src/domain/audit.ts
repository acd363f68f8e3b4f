/** The record of an administrative act. */

export interface Audit {
  readonly at: number;
  readonly by: string;
  readonly action: string;
  readonly subject: string;
  readonly facts: Readonly<Record<string, unknown>> | null;
}
