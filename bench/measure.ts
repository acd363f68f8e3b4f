/** What every measurement shares: the payload, calls in flight, rates and medians. */

/** A job's input, 202 bytes as JSON at six digits, the same for every queue. */
export interface Payload {
  readonly i: number;
  readonly t: string;
  readonly kind: string;
  readonly user: string;
  readonly body: string;
}

const BODY =
  'Read the notes of the last meeting, list the open questions and write a short report on each one.';

export function payload(i: number): Payload {
  return { i, t: '0'.repeat(20), kind: 'report.generate', user: 'user-4711@example.com', body: BODY };
}

export function payloads(count: number, from = 0): Payload[] {
  return Array.from({ length: count }, (_, i) => payload(from + i));
}

/** Cuts a list into parts of at most `size`. */
export function inParts<T>(items: readonly T[], size: number): T[][] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, part) =>
    items.slice(part * size, (part + 1) * size),
  );
}

/** Keeps `width` calls in flight until `more` says stop, and answers how many were made. */
export async function inFlight(
  width: number,
  more: (made: number) => boolean,
  call: (i: number) => unknown,
): Promise<number> {
  let made = 0;
  const caller = async (): Promise<void> => {
    while (more(made)) await call(made++);
  };
  await Promise.all(Array.from({ length: width }, caller));
  return made;
}

/** Runs `work`, which answers how much it did, and says how much that is per second. */
export async function perSecond(work: () => Promise<number>): Promise<number> {
  const startedMs = performance.now();
  const done = await work();
  return rate(done, performance.now() - startedMs);
}

export function rate(done: number, ms: number): number {
  return (done / ms) * 1000;
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length / 2;
  const upper = sorted[Math.floor(middle)] ?? Number.NaN;
  return Number.isInteger(middle) ? ((sorted[middle - 1] ?? upper) + upper) / 2 : upper;
}

/** The value that this share of all values does not exceed. */
export function quantile(values: readonly number[], share: number): number {
  return values.toSorted((a, b) => a - b)[Math.ceil(values.length * share) - 1] ?? Number.NaN;
}

/** Counts what a worker was handed, and notices what came twice. */
export class Seen {
  readonly #times: Uint8Array;
  readonly expected: number;
  count = 0;

  constructor(expected: number) {
    this.expected = expected;
    this.#times = new Uint8Array(expected);
  }

  add(i: number): void {
    this.count++;
    if (i < this.expected) this.#times[i] = Math.min(255, (this.#times[i] ?? 0) + 1);
  }

  /** What is wrong with the work done, or null. */
  problem(): string | null {
    const missing = this.#times.reduce((sum, times) => sum + (times === 0 ? 1 : 0), 0);
    const twice = this.#times.reduce((sum, times) => sum + (times > 1 ? 1 : 0), 0);
    if (missing === 0 && twice === 0 && this.count === this.expected) return null;
    return `${this.count} jobs handled of ${this.expected}: ${missing} missing, ${twice} more than once`;
  }
}
