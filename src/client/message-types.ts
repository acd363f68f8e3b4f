/** Messages and agents as the server shows them. */

export type MessageKind =
  | 'constraint'
  | 'decision'
  | 'fact'
  | 'task'
  | 'preference'
  | 'text'
  | 'result'
  | 'status'
  | 'system'
  | 'spawn';

/** A message as it goes with a claim or a heartbeat. */
export interface AgentMessage {
  readonly id: string;
  readonly from_agent: string;
  /** `broadcast` when it went to all. */
  readonly to_agent: string;
  readonly kind: MessageKind;
  readonly subject: string | null;
  readonly body: string;
  /** 0 normal, 1 high, 2 urgent. */
  readonly priority: number;
  readonly owner: string | null;
  readonly reply_to: string | null;
  readonly created_at: string;
  readonly expires_at: string | null;
}

export type MessageStatus = 'pending' | 'delivered' | 'read' | 'expired' | 'failed';

/** What became of a message for one of its recipients. */
export interface Receipt {
  readonly agent: string;
  readonly delivered_at: string | null;
  readonly read_at: string | null;
}

export interface Message extends AgentMessage {
  /** The schedule in whose name it was sent. */
  readonly job_id: string | null;
  readonly status: MessageStatus;
  readonly error: string | null;
  /** When the last recipient had it. */
  readonly delivered_at: string | null;
  readonly read_at: string | null;
  readonly receipts: readonly Receipt[];
}

export interface NewMessage {
  /** An agent, or `broadcast`; an answer goes to whoever wrote what it answers. */
  readonly to_agent?: string;
  /** `text` unless said. */
  readonly kind?: MessageKind;
  /** Text, or what is to be written as JSON. */
  readonly body: unknown;
  readonly subject?: string;
  readonly priority?: number;
  readonly owner?: string;
  readonly reply_to?: string;
  /** Afterwards nobody is handed it any more. */
  readonly expires_at?: string | number;
  readonly ttl_s?: number;
  /** Only head may write for another. */
  readonly from_agent?: string;
  readonly job_id?: string;
}

export interface MessageFilter {
  readonly kind?: MessageKind;
  readonly status?: MessageStatus;
  readonly from_agent?: string;
  readonly to_agent?: string;
  readonly before?: number;
  readonly limit?: number;
}

export interface MessagePage {
  readonly messages: readonly Message[];
  readonly next_before: number | null;
}

export interface UnreadPage {
  readonly messages: readonly Message[];
  /** The `after` of the next page. */
  readonly next_after: string | null;
}

export interface ThreadPage {
  readonly messages: readonly Message[];
  readonly next_after: number | null;
}

export interface Agent {
  readonly id: string;
  readonly name: string | null;
  readonly status: 'idle' | 'busy' | 'offline';
  readonly last_seen_at: string | null;
  readonly capabilities: readonly string[];
  /** False for one that is known because it was heard. */
  readonly registered: boolean;
  readonly created_at: string;
}

export interface NewAgent {
  readonly id: string;
  readonly name?: string | null;
  readonly capabilities?: readonly string[] | null;
}
