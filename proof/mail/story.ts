/** What was sent, heard and marked as read: all that the checker knows. */

export interface SentMessage {
  readonly id: string;
  readonly to_agent: string;
  readonly from_agent: string;
  readonly kind: string;
  readonly priority: number;
  readonly status: string;
  readonly created_at: string;
  readonly expires_at: string | null;
  readonly receipts: readonly {
    readonly agent: string;
    readonly delivered_at: string | null;
    readonly read_at: string | null;
  }[];
}

/** Messages that an agent got with one answer or prompt, in their order. */
export interface Batch {
  readonly agent: string;
  /** The lease, or the run, that they came with. */
  readonly carrier: string;
  /** The server put them together after the first of these moments, and they were there at the second. */
  readonly askedAt: number;
  readonly at: number;
  readonly ids: readonly string[];
  /** The server took a later call under this lease, or the end of this turn: so it knows that they have arrived. */
  readonly accepted: boolean;
}

export interface Story {
  /** Oldest first. */
  readonly messages: readonly SentMessage[];
  readonly agents: readonly string[];
  /** In the order in which they were heard. */
  readonly batches: readonly Batch[];
  /** When the server was killed, and when it was there again; when agents were killed. */
  readonly kills: readonly number[];
  /** What was acknowledged, as `<message> <agent>`. */
  readonly read: ReadonlySet<string>;
  /** When the receipts were looked at. */
  readonly endedAt: number;
}
