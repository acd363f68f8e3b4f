/** The approval: somebody has to agree before a job runs. */

export type ApprovalAuto = 'approve' | 'reject';

export type ApprovalStatus = 'pending' | 'approved' | 'rejected' | 'timed_out';

export interface Approval {
  readonly jobNo: number;
  readonly scheduleId: string | null;
  readonly status: ApprovalStatus;
  readonly timeoutMs: number;
  readonly auto: ApprovalAuto;
  /** SHA-256 of what is to be approved. */
  readonly hash: string;
  /** Null until the job has come up for approval. */
  readonly requestedAt: number | null;
  readonly expiresAt: number | null;
  readonly resolvedAt: number | null;
  readonly resolvedBy: string | null;
  readonly notes: string | null;
}

/** A job has one approval, so the job's id names that too. */
export interface ApprovalRecord extends Approval {
  readonly jobId: string;
  readonly title: string | null;
}

/** Newest first. */
export interface ApprovalFilter {
  readonly status?: ApprovalStatus;
  readonly scheduleId?: string;
  /** Only of jobs before this number. */
  readonly before?: number;
  readonly limit: number;
}
