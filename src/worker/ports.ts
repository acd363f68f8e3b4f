/** What the embedded worker needs of its server. Small on purpose: a worker knows no engine. */

import type { ClaimedJob } from '../client/types.ts';
import type { Access } from '../prompt/access.ts';
import type { ToldMessage } from '../prompt/messages.ts';
import type { ToldRun } from '../prompt/prior-runs.ts';
import type { RunPlan } from '../prompt/plan.ts';
import type { PromptRecord } from '../prompt/record.ts';
import type { ShellEnd } from './shell-process.ts';

/** What an earlier holder of a run wrote down before it began. */
export interface Begun {
  readonly sessionKey: string | null;
  /** `websocket`, `chat`, `wake` or `shell`; null where nothing could be written down. */
  readonly transport: string | null;
  readonly at: number;
}

export interface RunNotes {
  /** Not null when somebody has begun this very attempt: then it must not be sent blindly again. */
  begun(job: ClaimedJob): Promise<Begun | null>;
  /** The time of the installation. The moment at which a dispatch begins names it. */
  now(): number;
  /** Committed before anything is sent. */
  begin(job: ClaimedJob, note: BeginNote): Promise<void>;
  /** Nothing was sent after all. */
  takeBack(job: ClaimedJob): Promise<void>;
  /** The work showed a sign of life. */
  heartbeat(job: ClaimedJob): Promise<void>;
  /** The first job of the lineage to which this one belongs. */
  firstOf(job: ClaimedJob): Promise<string>;
  /** What waits for the agent, for the prompt of this run. */
  mail(job: ClaimedJob, agentId: string): Promise<readonly ToldMessage[]>;
  /** The gateway has taken the prompt, and with it what it was handed. */
  mailArrived(job: ClaimedJob): Promise<void>;
  /** What earlier runs of the schedule said, as far as the plan asks for it; about what is to be done, `message`. */
  priorRuns(job: ClaimedJob, plan: RunPlan, message: string): Promise<readonly ToldRun[]>;
  /** How the agent of a dispatch reaches the server, until the run ends or is dispatched anew. */
  access(job: ClaimedJob, begunAt: number): Promise<Access>;
}

export interface BeginNote extends Partial<PromptRecord> {
  readonly at: number;
  readonly sessionKey: string;
  readonly transport: string;
}

/** Which of these jobs somebody wants to stop. */
export type CancelRequests = (jobs: readonly ClaimedJob[]) => Promise<readonly string[]>;

export interface WorkerLog {
  info(message: string, facts?: Readonly<Record<string, unknown>>): void;
  warn(message: string, facts?: Readonly<Record<string, unknown>>): void;
}

/** One command that was started and waits for `go`. */
export interface Command {
  /** Also the number of its group; null when it could not be started. */
  readonly pid: number | null;
  /** The command begins. */
  go(): Promise<ShellEnd>;
  /** Ends the whole group, politely first. */
  kill(): Promise<void>;
  /** Nobody will ask for it any more. */
  closed(): void;
}

/** Who starts commands. */
export interface Commands {
  start(command: string, env: Readonly<Record<string, string>>): Promise<Command>;
}

/** Whoever watched the command is gone, and nobody knows how it ends. */
export class CommandLost extends Error {}
