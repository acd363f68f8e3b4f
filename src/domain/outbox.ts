/** Notices that leave the house, kept until they are delivered. */

export interface OutboxDraft {
  readonly channel: string;
  readonly kind: string;
  readonly jobNo: number | null;
  readonly body: string;
  readonly at: number;
}

export interface OutboxRow extends OutboxDraft {
  readonly no: number;
  readonly attempts: number;
}
