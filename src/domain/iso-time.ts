/** Times as text. */

export function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}

/** Facts carry their times as numbers, under names that end in At or Until. */
export function isTimeFact(name: string, value: unknown): value is number {
  return typeof value === 'number' && /(At|Until)$/.test(name);
}
