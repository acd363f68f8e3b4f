/** What the routes of one server share. */

import type { IncomingMessage } from 'node:http';
import type { BlobStore } from '../blobs/blobs.ts';
import type { Actor } from '../domain/command.ts';
import type { Clock } from '../domain/ports.ts';
import type { Engine } from '../engine/engine.ts';
import type { ObjectStore } from '../objects/objects.ts';
import type { AnswerRoom } from './answer-room.ts';
import type { Credential } from './auth.ts';
import type { EventStreams } from './events/streams.ts';
import type { CallLimits } from './call-limits.ts';
import type { LongWork } from '../engine/long-work.ts';
import type { LoopDelay } from './loop-delay.ts';
import type { RequestLog, Requests } from './requests.ts';

export interface Parts {
  readonly engine: Engine;
  readonly clock: Clock;
  readonly credentials: readonly Credential[];
  readonly version: string;
  readonly skillMdPath: string;
  readonly blobStore: BlobStore;
  readonly blobLimitBytes: number;
  /** Where large data of tasks lies. */
  readonly objects: ObjectStore;
  /** What GET /health/details shows beside the public facts. */
  readonly health: () => object | Promise<object>;
  /** Why nobody does the work of this target now, as far as this server would; null when somebody does. */
  readonly unserved: (target: string) => string | null;
  /** Why this server cannot take work now; null when it can. */
  readonly unready: () => Unready | null;
  readonly gauges: () => Gauges;
  /** Every setting in force, with secrets masked. */
  readonly settings: () => readonly ShownSetting[];
  /** Programs on this machine need no token at a door that is made for them. */
  readonly letsNeighboursIn: boolean;
  /** Where a call comes from. */
  readonly addressOf: (request: IncomingMessage) => string;
  readonly requests: Requests;
  /** Whether anything is counted for /metrics. */
  readonly metrics: boolean;
  /** When this process began, in seconds since 1970. */
  readonly startedS: number;
  /** Where large answers wait for room. */
  readonly room: AnswerRoom;
  readonly streams: EventStreams;
  readonly limits: CallLimits;
  /** For what holds the event loop, or a connection to the database, for a while. */
  readonly longWork: LongWork;
  readonly loopDelay: LoopDelay;
  readonly log: RequestLog;
  /** The description of all routes, or of those with one tag, as JSON. All who ask are sent the same bytes. */
  readonly description: (tag?: string) => Buffer;
  /** The names of the routes that a caller with a token may call. */
  readonly callsOpenTo: (actor: Actor) => readonly string[];
}

export interface Unready {
  /** One word for programs. */
  readonly reason: 'starting' | 'stopping' | 'database' | 'disk_full' | 'slow';
  /** A sentence for people. */
  readonly problem: string;
}

/** What the parts of the server say about themselves. */
export interface Gauges {
  readonly waitingClaims: number;
  /** Callers that wait for the end of a job. */
  readonly waitingReads: number;
  readonly pendingCommands: number;
  readonly loops: readonly LoopGauge[];
  /** Spans for the collector: sent, and left out because it was too slow; null where none are sent. */
  readonly spans: { readonly sent: number; readonly dropped: number } | null;
  /** Lines of the log that nobody took in time. */
  readonly droppedLines: number;
}

export interface LoopGauge {
  readonly name: string;
  readonly runs: number;
  readonly lastRunAt: number | null;
  readonly lastDurationMs: number | null;
  readonly lastError: string | null;
  /** How many of its passes have failed. */
  readonly errors: number;
}

export interface ShownSetting {
  readonly name: string;
  readonly value: string | null;
  readonly origin: string;
}
