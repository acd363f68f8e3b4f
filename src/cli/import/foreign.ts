/** Schedules of other programs, on their way to being ours. */

export type SourceKind = 'openclaw' | 'scheduler' | 'crontab';

export interface Foreign {
  /** What the source calls it; with the source's name it is the mark by which it is known again. */
  readonly key: string;
  readonly name: string;
  readonly parentKey: string | null;
  /** The fields of a schedule, in the words of the door. */
  readonly fields: Readonly<Record<string, unknown>>;
  /** What did not come along, and why. */
  readonly notes: readonly string[];
}

/** What cannot be a schedule here. */
export interface Unfit {
  readonly name: string;
  readonly reason: string;
}

/** A name for a place, as the door takes it. */
export interface ForeignAlias {
  readonly alias: string;
  readonly channel: string;
  readonly target: string;
  readonly description: string | null;
}

export interface Source {
  readonly kind: SourceKind;
  /** Where its schedules deliver, so these are made first. */
  readonly aliases: readonly ForeignAlias[];
  /** Parents come before their children. A large source reads one at a time, so it is walked through once. */
  readonly schedules: Iterable<Foreign>;
  /** Complete when the schedules have been walked through. */
  readonly unfit: readonly Unfit[];
  /** What stays behind of the source itself, whatever its schedules are. */
  readonly notes: readonly string[];
}

export function markOf(kind: SourceKind, key: string): string {
  return `import:${kind}/${key}`.slice(0, 200);
}

/** Leaves out what is not there. */
export function present(fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value !== undefined && value !== null && value !== ''),
  );
}

/** Whether somebody said it: what is empty, off or zero is what each job has unless somebody says more. */
export function isSaid(value: unknown): boolean {
  if (typeof value === 'object' && value !== null) return Object.values(value).some(isSaid);
  return value !== undefined && value !== null && value !== '' && value !== false && value !== 0;
}

/** Better a line too many than a job that quietly does something else. */
export function unreadNote(names: readonly string[]): string[] {
  return names.length === 0 ? [] : [`it says more, which stays behind: ${names.join(', ')}`];
}
