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
  /** The id. */
  readonly id: string;
  /** Who sent it. */
  readonly from_agent: string;
  /** `broadcast` when it went to all. */
  readonly to_agent: string;
  /** What kind it is. */
  readonly kind: MessageKind;
  /** What it is about, in one line. */
  readonly subject: string | null;
  /** Its text. */
  readonly body: string;
  /** 0 normal, 1 high, 2 urgent. */
  readonly priority: number;
  /** Who answers for it. */
  readonly owner: string | null;
  /** The message that this one answers. */
  readonly reply_to: string | null;
  /** When it was made. */
  readonly created_at: string;
  /** When it is not worth reading any more. */
  readonly expires_at: string | null;
}

export type MessageStatus = 'pending' | 'delivered' | 'read' | 'expired' | 'failed';

/** What became of a message for one of its recipients. */
export interface Receipt {
  /** Whose it is. */
  readonly agent: string;
  /** When it was delivered. */
  readonly delivered_at: string | null;
  /** When it was read. */
  readonly read_at: string | null;
}

export interface Message extends AgentMessage {
  /** The schedule in whose name it was sent. */
  readonly job_id: string | null;
  /** Where it stands. */
  readonly status: MessageStatus;
  /** What went wrong. */
  readonly error: string | null;
  /** When the last recipient had it. */
  readonly delivered_at: string | null;
  /** When it was read. */
  readonly read_at: string | null;
  /** What became of it for each of its recipients. */
  readonly receipts: readonly Receipt[];
}

export interface NewMessage {
  /** An agent, or `broadcast`; an answer goes to whoever wrote what it answers. */
  readonly to_agent?: string;
  /** `text` unless said. */
  readonly kind?: MessageKind;
  /** Text, or what is to be written as JSON. */
  readonly body: unknown;
  /** What it is about, in one line. */
  readonly subject?: string;
  /** What is higher comes first. */
  readonly priority?: number;
  /** Who answers for it. */
  readonly owner?: string;
  /** The message that this one answers. */
  readonly reply_to?: string;
  /** Afterwards nobody is handed it any more. */
  readonly expires_at?: string | number;
  /** For how many seconds it is worth reading. */
  readonly ttl_s?: number;
  /** Only head may write for another. */
  readonly from_agent?: string;
  /** The schedule that it is about. */
  readonly job_id?: string;
}

export interface MessageFilter {
  /** Only messages of this kind. */
  readonly kind?: MessageKind;
  /** Only messages that stand there. */
  readonly status?: MessageStatus;
  /** Only what this agent sent. */
  readonly from_agent?: string;
  /** Only what this agent is to read. */
  readonly to_agent?: string;
  /** Only what comes before this: next_before of the last page. */
  readonly before?: number;
  /** How many at most. */
  readonly limit?: number;
}

export interface MessagePage {
  /** The messages. */
  readonly messages: readonly Message[];
  /** The before of the next page; null when there is none. */
  readonly next_before: number | null;
}

export interface UnreadPage {
  /** The messages. */
  readonly messages: readonly Message[];
  /** The `after` of the next page. */
  readonly next_after: string | null;
}

export interface ThreadPage {
  /** The messages. */
  readonly messages: readonly Message[];
  /** The after of the next page; null when there is none. */
  readonly next_after: number | null;
}

export interface Agent {
  /** The id. */
  readonly id: string;
  /** Its name. */
  readonly name: string | null;
  /** Where it stands. */
  readonly status: 'idle' | 'busy' | 'offline';
  /** When it was heard from last. */
  readonly last_seen_at: string | null;
  /** What the claimer can do; jobs that require more are passed over. */
  readonly capabilities: readonly string[];
  /** False for one that is known because it was heard. */
  readonly registered: boolean;
  /** When it was made. */
  readonly created_at: string;
}

export interface NewAgent {
  /** What it is called in messages. */
  readonly id: string;
  /** Its name. */
  readonly name?: string | null;
  /** What it can do. */
  readonly capabilities?: readonly string[] | null;
}
