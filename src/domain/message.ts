/** The message: what a run, or head, asks of the scheduler. */

export interface Message {
  readonly no: number;
  readonly id: string;
  readonly sender: string;
  readonly recipient: string;
  readonly kind: string;
  readonly subject: string | null;
  readonly body: string;
  readonly priority: number;
  readonly owner: string | null;
  readonly replyTo: string | null;
  readonly scheduleId: string | null;
  readonly jobNo: number | null;
  readonly status: 'pending' | 'delivered' | 'read' | 'expired' | 'failed';
  readonly error: string | null;
  readonly createdAt: number;
  readonly deliveredAt: number | null;
  readonly readAt: number | null;
  readonly expiresAt: number | null;
}

/** Newest first. */
export interface MessageFilter {
  readonly kind?: string;
  readonly status?: string;
  /** Only messages before this number. */
  readonly before?: number;
  readonly limit: number;
}
