import type { StoreKind } from './stores.ts';

/** What one proof found. It holds when nothing was violated. */
export interface ProofReport {
  readonly proof: string;
  readonly store: StoreKind;
  readonly holds: boolean;
  /** One line for a reader. */
  readonly summary: string;
  readonly counts: Readonly<Record<string, number>>;
  /** The first few, each with enough to look for it. */
  readonly violations: readonly string[];
  readonly seconds: number;
}

const SHOWN_VIOLATIONS = 5;

export function report(
  found: Omit<ProofReport, 'holds' | 'seconds'> & { readonly startedMs: number },
): ProofReport {
  const { startedMs, violations, ...rest } = found;
  return {
    ...rest,
    holds: violations.length === 0,
    counts: { ...rest.counts, violations: violations.length },
    violations: violations.slice(0, SHOWN_VIOLATIONS),
    seconds: Math.round((performance.now() - startedMs) / 100) / 10,
  };
}

export function printReport(found: ProofReport): void {
  const word = found.holds ? 'holds' : 'BROKEN';
  process.stdout.write(`${found.proof} on ${found.store}: ${word}, ${found.summary} (${found.seconds} s)\n`);
  for (const violation of found.violations) process.stdout.write(`  violation: ${violation}\n`);
  process.stdout.write(`${JSON.stringify(found)}\n`);
}
