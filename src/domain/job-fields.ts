/**
 * The fields of a job's row, each said once: its type, its column, its default, its limits and who sees it. What else
 * knows jobs is derived from this table. A new field goes to the end: journals have been written in this order.
 */

import { STATES } from './job.ts';
import { LIMITS } from './limits.ts';

/** What a caller may say. Numbers have bounds, texts a shape: a name stands in URLs, a label is any printable text. */
export interface Asked {
  readonly about: string;
  readonly min?: number;
  readonly max?: number;
  readonly shape?: 'name' | 'label' | 'traceparent';
  readonly maxChars?: number;
  /** The option of `spine jobs add`. */
  readonly option: string;
  /** The holder of a job may say it of a child as it likes; what is not marked is judged in child-job.ts, or refused. */
  readonly child?: 'own';
}

export interface FieldRule {
  /** `json` is JSON as text, `texts` a list of texts as JSON, `time` epoch milliseconds; a list holds the only values. */
  readonly is: 'text' | 'texts' | 'json' | 'whole' | 'time' | 'flag' | readonly (string | number)[];
  /**
   * How it changes: never, unless it is said anew; with a claim, a heartbeat or an end; or now and then. Each group is written by
   * its own statement.
   */
  readonly group: 'key' | 'fixed' | 'lease' | 'rare';
  /** What a new job has unless its maker says otherwise; a field without one must be said. Only what is null here can be null. */
  readonly default?: string | number | boolean | null;
  /** Whoever creates the job says it, within these limits; everything else is the engine's to set. */
  readonly asked?: Asked | { readonly within: 'type' | 'retry' };
  /** It can be said anew: by a change of a job that nobody holds, or in a way of its own at doors where people look after tasks. */
  readonly reworded?: 'change' | 'door';
  /** In words, where it is not asked for. */
  readonly about?: string;
  /** Who sees the job sees it, always or when it is not its default; `file` is for its file alone. */
  readonly shown?: 'always' | 'set' | 'file';
  /** Lists can be asked for the jobs that have this value, or this among its texts; in words, as an option says it. */
  readonly filtered?: string;
  /** Jobs differ in it although it has a default: a claim reads it of every job. */
  readonly differs?: true;
  /** It changes, and the next job of a lineage has it from the one before, like everything that never changes. */
  readonly handedOn?: true;
  /** It may change without an event: a journal may have an older value. */
  readonly silent?: true;
  /** A claim and the end of a lease are most of all work: each writes only what it brings, and clears what it leaves at its default. */
  readonly writtenBy?: readonly LeaseWrite[];
  readonly clearedBy?: readonly LeaseWrite[];
  /** The end of a lease leaves in it what this field had: the row has it already. */
  readonly atEnd?: string;
}

export type LeaseWrite = 'claim' | 'end';

const RULES = {
  no: { is: 'whole', group: 'key', shown: 'always', about: 'the short number that people say and type' },
  id: { is: 'text', group: 'fixed', shown: 'always', about: 'the id' },
  /** 0 stands for "no type", so that one index serves typed and untyped work. */
  typeNo: {
    is: 'whole',
    group: 'fixed',
    default: 0,
    differs: true,
    reworded: 'door',
    asked: { within: 'type' },
  },
  target: {
    is: 'text',
    group: 'fixed',
    reworded: 'door',
    shown: 'always',
    asked: {
      about: 'who may do it: a worker, a queue, or any (left-claw unless said)',
      shape: 'name',
      option: '-t, --target <name>',
      child: 'own',
    },
  },
  createdAt: { is: 'time', group: 'fixed', shown: 'always', about: 'when it was made' },
  createdBy: { is: 'text', group: 'fixed', shown: 'always', about: 'who made it' },
  leaseMs: {
    is: 'whole',
    group: 'fixed',
    shown: 'always',
    asked: {
      about: 'how long its worker may be silent',
      min: LIMITS.leaseMsMin,
      max: LIMITS.leaseMsMax,
      option: '--lease <duration>',
    },
  },
  timeoutMs: {
    is: 'whole',
    group: 'fixed',
    default: null,
    shown: 'set',
    asked: {
      about: 'how long one attempt may take',
      min: 1,
      max: LIMITS.timeoutMsMax,
      option: '--time-limit <duration>',
    },
  },
  retryMode: {
    is: ['requeue', 'lineage'],
    group: 'fixed',
    default: 'requeue',
    differs: true,
    asked: { within: 'retry' },
  },
  retryMax: {
    is: 'whole',
    group: 'fixed',
    default: 0,
    differs: true,
    reworded: 'door',
    asked: { within: 'retry' },
  },
  /** Null is as whoever reports the failure wants it: at once, or after the usual time. */
  backoffMs: { is: 'whole', group: 'fixed', default: null, differs: true, asked: { within: 'retry' } },
  retryCount: { is: 'whole', group: 'fixed', default: 0 },
  retryOf: { is: 'whole', group: 'fixed', default: null },
  /** The first job of a retry lineage; null for that first job itself. */
  rootNo: { is: 'whole', group: 'fixed', default: null },
  parentNo: { is: 'whole', group: 'fixed', default: null },
  scheduleId: { is: 'text', group: 'fixed', default: null, shown: 'set', about: 'the schedule that made it' },
  uniqueKey: {
    is: 'text',
    group: 'fixed',
    default: null,
    shown: 'set',
    asked: {
      about: 'refused while an unfinished job of the type has this key',
      shape: 'label',
      maxChars: LIMITS.uniqueKeyChars,
      option: '--unique-key <key>',
    },
  },
  pool: {
    is: 'text',
    group: 'fixed',
    default: null,
    shown: 'set',
    asked: {
      about: 'the pool whose slots it takes',
      shape: 'name',
      option: '--pool <name>',
    },
    filtered: 'only jobs of this pool',
  },
  concurrencyKey: {
    is: 'text',
    group: 'fixed',
    default: null,
    shown: 'set',
    asked: {
      about: 'jobs of a pool with the same key share its per-key slots',
      shape: 'label',
      maxChars: LIMITS.nameChars,
      option: '--concurrency-key <key>',
    },
  },

  state: {
    is: STATES,
    group: 'lease',
    writtenBy: ['claim', 'end'],
    shown: 'always',
    about: 'where it stands, by one of ten names',
  },
  updatedAt: {
    is: 'time',
    group: 'lease',
    writtenBy: ['claim', 'end'],
    silent: true,
    shown: 'always',
    about: 'when it was changed last',
  },
  attempts: {
    is: 'whole',
    group: 'lease',
    writtenBy: ['claim', 'end'],
    default: 0,
    shown: 'always',
    about: 'how often it was claimed',
  },
  fence: { is: 'whole', group: 'lease', writtenBy: ['claim'], default: 0 },
  leaseToken: { is: 'text', group: 'lease', writtenBy: ['claim'], clearedBy: ['end'], default: null },
  leaseUntil: {
    is: 'time',
    group: 'lease',
    writtenBy: ['claim'],
    clearedBy: ['end'],
    default: null,
    silent: true,
    shown: 'always',
    about: 'when its holder loses it without a heartbeat',
  },
  leasePolicy: {
    is: ['own', 'adopt', 'presence'],
    group: 'lease',
    writtenBy: ['claim'],
    default: 'own',
    shown: 'file',
    about: 'what ends its lease: its own time, or that its worker is not heard from (presence)',
  },
  /**
   * How long each heartbeat renews the lease, when its claim asked for more or less than the job's own. Under `presence` it
   * renews the limit of the attempt by it.
   */
  leaseSpanMs: {
    is: 'whole',
    group: 'lease',
    writtenBy: ['claim'],
    clearedBy: ['end'],
    default: null,
    silent: true,
  },
  claimedBy: {
    is: 'text',
    group: 'lease',
    writtenBy: ['claim'],
    default: null,
    shown: 'always',
    about: 'who holds it, or held it last',
  },
  claimId: { is: 'text', group: 'lease', writtenBy: ['claim'], clearedBy: ['end'], default: null },
  /** Once a lease was used with its token, writes without one are refused. */
  tokenUsed: { is: 'flag', group: 'lease', clearedBy: ['claim', 'end'], default: false, silent: true },
  timeoutAt: {
    is: 'time',
    group: 'lease',
    writtenBy: ['claim'],
    clearedBy: ['end'],
    default: null,
    silent: true,
    shown: 'file',
    about: 'when the attempt will have taken too long',
  },
  /** The last lease that ended, how, and where that left the job. */
  endedToken: { is: 'text', group: 'lease', atEnd: 'leaseToken', default: null },
  endedVerb: {
    is: ['complete', 'fail', 'release', 'snooze', 'ask'],
    group: 'lease',
    writtenBy: ['end'],
    default: null,
  },
  endedState: { is: STATES, group: 'lease', writtenBy: ['end'], default: null },
  settled: { is: [0, 1, 2, 3], group: 'lease', writtenBy: ['end'], default: 0, silent: true },
  finishedAt: {
    is: 'time',
    group: 'lease',
    writtenBy: ['end'],
    default: null,
    shown: 'set',
    about: 'when it ended',
  },
  reason: {
    is: 'text',
    group: 'lease',
    writtenBy: ['end'],
    default: null,
    shown: 'set',
    about: 'why it ended, or was given back',
  },
  progress: {
    is: 'json',
    group: 'lease',
    clearedBy: ['claim'],
    default: null,
    silent: true,
    shown: 'set',
    about: 'how far the work is, in the words of its holder',
  },
  /** The number of its last event. */
  seq: { is: 'whole', group: 'lease', writtenBy: ['claim', 'end'], default: 1, differs: true },

  priority: {
    is: 'whole',
    group: 'rare',
    reworded: 'change',
    default: 0,
    differs: true,
    handedOn: true,
    silent: true,
    shown: 'always',
    asked: {
      about: 'higher is sooner; 0 unless said',
      min: -LIMITS.priority,
      max: LIMITS.priority,
      option: '-p, --priority <number>',
    },
  },
  runAt: {
    is: 'time',
    group: 'rare',
    reworded: 'change',
    shown: 'set',
    asked: { about: 'not before this', option: '--run-at <time>', child: 'own' },
  },
  maxAttempts: {
    is: 'whole',
    group: 'rare',
    handedOn: true,
    shown: 'always',
    asked: {
      about: 'how many times it runs at most',
      min: 1,
      max: LIMITS.maxAttempts,
      option: '--max-attempts <number>',
    },
  },
  cancelRequested: {
    is: 'flag',
    group: 'rare',
    default: false,
    silent: true,
    shown: 'set',
    about: 'whether to stop: somebody has cancelled it',
  },
  blockedOn: {
    is: 'text',
    group: 'rare',
    default: null,
    silent: true,
    shown: 'set',
    about: 'what it waits for: the name of a slot pool, a gateway that takes no work, or answer',
  },
  waitingFor: {
    is: 'whole',
    group: 'rare',
    default: 0,
    silent: true,
    shown: 'set',
    about: 'how many dependencies have not settled yet',
  },
  /** Something reacts to this job's end: it must pass the settling loop. */
  watched: { is: 'flag', group: 'rare', default: false, silent: true, handedOn: true },
  retryAt: {
    is: 'time',
    group: 'rare',
    default: null,
    silent: true,
    shown: 'set',
    about: 'when the next job of the lineage is due',
  },
  comments: { is: 'whole', group: 'rare', default: 0 },
  approval: {
    is: ['none', 'needed', 'given'],
    group: 'rare',
    default: 'none',
    handedOn: true,
    shown: 'set',
    about: 'whether somebody has to agree before it runs, or has',
  },
  /** Why an attempt went wrong, where it was not the work itself. */
  cause: {
    is: ['timeout', 'stale', 'crashed'],
    group: 'rare',
    default: null,
    shown: 'set',
    about: 'what kind of failure it was, when it is known',
  },
  requires: {
    is: 'texts',
    group: 'fixed',
    default: null,
    shown: 'set',
    asked: {
      about: 'capabilities that its worker must have',
      shape: 'name',
      max: LIMITS.capabilities,
      option: '--requires <capability>',
      child: 'own',
    },
    filtered: 'only jobs that require this capability',
  },
  question: {
    is: 'text',
    group: 'rare',
    default: null,
    shown: 'set',
    about: 'the question whose answer it waits for',
  },
  questions: {
    is: 'whole',
    group: 'rare',
    default: 0,
    handedOn: true,
    shown: 'set',
    about: 'how many questions it has asked',
  },
  checkpointAt: {
    is: 'time',
    group: 'rare',
    default: null,
    handedOn: true,
    shown: 'set',
    about: 'when its last checkpoint was written',
  },
  /** Messages were handed out under its lease, and nothing says yet that they have arrived. */
  mailed: { is: 'flag', group: 'rare', default: false, silent: true },
  review: {
    is: ['none', 'pending'],
    group: 'rare',
    default: 'none',
    shown: 'set',
    about: 'whether somebody still has to look at what was done',
  },
  announce: {
    is: 'flag',
    group: 'fixed',
    default: false,
    shown: 'set',
    asked: { about: 'tell the chat of the operator how it ends', option: '--announce' },
  },
  startedAt: {
    is: 'time',
    group: 'lease',
    writtenBy: ['claim'],
    default: null,
    shown: 'set',
    about: 'when the attempt began that runs now, or ran to the end',
  },
  /** How many jobs the first of its lineage was made to wait for: their results are its inputs. */
  dependencies: { is: 'whole', group: 'fixed', default: 0 },
  /** When it became ready; null for a job that is ready since it was made. */
  queuedAt: { is: 'time', group: 'lease', default: null, differs: true },
  traceparent: {
    is: 'text',
    group: 'fixed',
    default: null,
    shown: 'set',
    asked: {
      about: 'the trace that it belongs to, as W3C Trace Context writes it',
      shape: 'traceparent',
      option: '--traceparent <value>',
      child: 'own',
    },
  },
  /** So much of its priority comes from the scoring of its type, and when there is more. */
  score: {
    is: 'whole',
    group: 'rare',
    default: 0,
    silent: true,
    shown: 'set',
    about: 'how many points of its priority the scoring of its type has given it',
  },
  scoreAt: { is: 'time', group: 'rare', default: null, silent: true },
  /** Whoever has taken it once has taken it in time, and its retries have all the time there is. */
  startBefore: {
    is: 'time',
    group: 'rare',
    default: null,
    shown: 'set',
    asked: {
      about: 'skipped, with the reason expired, when nobody has taken it by then',
      option: '--start-before <time>',
      child: 'own',
    },
  },
} as const satisfies Readonly<Record<string, FieldRule>>;

type Rules = typeof RULES;
type Named<Wanted> = { [K in keyof Rules]: Rules[K] extends Wanted ? K : never }[keyof Rules];
type Kept = { readonly group: 'key' | 'fixed' };
type ValueOf<Rule extends FieldRule> =
  | (Rule['is'] extends readonly (infer Word)[]
      ? Word
      : Rule['is'] extends 'flag'
        ? boolean
        : Rule['is'] extends 'text' | 'texts' | 'json'
          ? string
          : number)
  | (Rule extends { readonly default: null } ? null : never);

/** A job's row as the table says. */
export type JobRow = {
  readonly [K in keyof Rules as Rules[K] extends Kept ? K : never]: ValueOf<Rules[K]>;
} & { -readonly [K in keyof Rules as Rules[K] extends Kept ? never : K]: ValueOf<Rules[K]> };

export type JobField = FieldRule & { readonly name: keyof JobRow; readonly column: string };

const NAMES = Object.keys(RULES) as (keyof Rules)[];

/** The table as a list. */
export const JOB_FIELDS: readonly JobField[] = NAMES.map((name) => ({
  ...(RULES[name] as FieldRule),
  name,
  column: name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
}));

/** The only values of fields that have a list of them. */
export const FAILURE_CAUSES = RULES.cause.is;
export const RETRY_MODES = RULES.retryMode.is;
export const ENDING_VERBS = RULES.endedVerb.is;

/** What has no default, and what a lineage hands on. */
export type RequiredName = Exclude<keyof JobRow, Named<{ readonly default: unknown }> | 'no'>;
export type HandedOnName = FixedName | Named<{ readonly handedOn: true }>;

/** What whoever creates a job decides about its row. */
export type AskedJob = Pick<JobRow, Exclude<Named<{ readonly asked: object }>, 'runAt'>> & {
  /** Null is at once: by the clock of the decision, which may stand behind that of the draft. */
  readonly runAt: number | null;
};
/** As it is said, under the same names. */
export type JobRowDraft = { readonly [K in Named<{ readonly asked: Asked }>]?: Drafted<Rules[K]> };
type Drafted<Rule extends FieldRule> = Rule['is'] extends 'texts'
  ? readonly string[]
  : NonNullable<ValueOf<Rule>>;
/** The moments among it, which each door reads in its own way. */
export type TimeName = Named<{ readonly asked: Asked; readonly is: 'time' }>;
/** What of it has a default for everybody. */
export type DraftedRow = Pick<JobRow, Named<{ readonly asked: Asked; readonly default: unknown }>>;
export const DRAFT_FIELDS = JOB_FIELDS.filter(isDraftField);

/** What can be said anew of the row, and by a change. */
export type RowRewording = { readonly [K in Named<{ readonly reworded: string }>]?: NonNullable<JobRow[K]> };
export type ChangeName = Named<{ readonly reworded: 'change' }>;
export const REWORDED = JOB_FIELDS.filter(isReworded);
/** Of these, what changes in no other way. */
export const FIXED_REWORDED = REWORDED.filter(({ group }) => group === 'fixed');
export const CHANGE_FIELDS = DRAFT_FIELDS.filter(({ reworded }) => reworded === 'change');

/** What lists can be asked for by its value. */
export type FieldFilter = { readonly [K in Named<{ readonly filtered: string }>]?: string };
export const FILTERED = JOB_FIELDS.filter(isFiltered);

/** What never changes about a job, and what does. */
type FixedName = Named<{ readonly group: 'fixed' }>;
export type FixedJob = Pick<JobRow, FixedName>;
export type ChangingJob = Omit<JobRow, FixedName | 'no'>;
export const FIXED = JOB_FIELDS.filter(isFixed);
export const CHANGING = JOB_FIELDS.filter(isChanging);

type DraftField = JobField & { readonly name: keyof JobRowDraft; readonly asked: Asked };

function isDraftField(field: JobField): field is DraftField {
  return field.asked !== undefined && 'about' in field.asked;
}

function isReworded(field: JobField): field is JobField & { readonly name: keyof RowRewording } {
  return field.reworded !== undefined;
}

function isFiltered(field: JobField): field is JobField & { readonly name: keyof FieldFilter; asked: Asked } {
  return field.filtered !== undefined;
}

function isFixed(field: JobField): field is JobField & { readonly name: keyof FixedJob } {
  return field.group === 'fixed';
}

function isChanging(field: JobField): field is JobField & { readonly name: keyof ChangingJob } {
  return field.group === 'lease' || field.group === 'rare';
}
