/** Judges what is known after workers were killed, stopped and frozen at work. */

export interface TaskStory {
  readonly id: string;
  readonly slot: string;
  /** Oldest first. */
  readonly events: readonly { readonly type: string; readonly atMs: number }[];
}

export interface Fault {
  readonly slot: string;
  readonly signal: string;
  readonly atMs: number;
  /** The session that was at work; null when none was. */
  readonly session: string | null;
  /** How long its processes were there after the fault; null when they still are. */
  readonly goneMs: number | null;
  /** How often the slot was started again by then, and what its heartbeat said. */
  readonly restarts: number;
  readonly told: unknown;
}

export interface Found {
  readonly tasks: readonly TaskStory[];
  readonly faults: readonly Fault[];
  /** `<job> <session> begin|end`, as the sessions wrote it. */
  readonly ledger: readonly string[];
  readonly leaseMs: number;
}

const ORPHAN_MS = 10_000;
const STUCK_LEASES = 2;

export function checkWorkers(found: Found): string[] {
  return [
    ...found.tasks.flatMap((task) => doneOnce(task)),
    ...found.tasks.flatMap((task) => stuck(task, found)),
    ...sessions(found),
    ...missed(found),
    ...found.faults.flatMap((fault) => [...orphans(fault), ...miscounted(fault)]),
  ];
}

function doneOnce({ id, events }: TaskStory): string[] {
  const done = events.filter(({ type }) => type === 'job.completed').length;
  return done === 1 ? [] : [`task ${id} was completed ${done} times`];
}

/** What ends a claim. */
const ENDS: readonly string[] = [
  'job.completed',
  'job.failed',
  'job.released',
  'job.expired',
  'job.timeout',
  'job.dead',
  'job.cancelled',
];

/** A claim whose worker was taken away ends within two leases. */
function stuck({ id, slot, events }: TaskStory, { faults, leaseMs }: Found): string[] {
  return events.flatMap(({ type, atMs }, i) => {
    if (type !== 'job.claimed') return [];
    const end = events.slice(i + 1).find((event) => ENDS.includes(event.type));
    const endMs = end?.atMs ?? Infinity;
    const hit = faults.find((fault) => fault.slot === slot && fault.atMs >= atMs && fault.atMs < endMs);
    if (hit === undefined || endMs - hit.atMs <= STUCK_LEASES * leaseMs) return [];
    return [`task ${id} was held for ${endMs - hit.atMs} ms after ${hit.signal} to ${slot}`];
  });
}

/** Each session does its task once, is over before another one begins it, and has done what counts as done. */
function sessions({ tasks, ledger }: Found): string[] {
  const problems: string[] = [];
  const newest = new Map<string, string>();
  const seen = new Set<string>();
  const ended = new Set<string>();
  for (const line of ledger) {
    const [job = '', session = '', what] = line.split(' ');
    if (seen.has(line)) problems.push(`session ${session} did task ${job} twice under one lease`);
    seen.add(line);
    if (what === 'begin') newest.set(job, session);
    else if (newest.get(job) !== session) problems.push(`two sessions of task ${job} at a time`);
    if (what === 'end') ended.add(job);
  }
  for (const { id } of tasks)
    if (!ended.has(id)) problems.push(`task ${id} counts as done, and no session did it`);
  return problems;
}

function orphans({ slot, signal, session, goneMs }: Fault): string[] {
  if (session === null || (goneMs !== null && goneMs <= ORPHAN_MS)) return [];
  return [`processes of ${session} were there ${goneMs ?? 'for ever'} ms after ${signal} to ${slot}`];
}

export function hasHit({ session }: Fault): boolean {
  return session !== null;
}

/** Faults that meet workers at rest prove little. */
function missed({ faults }: Found): string[] {
  const hits = faults.filter(hasHit).length;
  return hits * 2 >= faults.length ? [] : [`only ${hits} of ${faults.length} faults met a session at work`];
}

function miscounted({ slot, signal, restarts, told }: Fault): string[] {
  return told === restarts ? [] : [`${slot}: restartCount ${String(told)} after ${signal}, not ${restarts}`];
}
