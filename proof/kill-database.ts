import { proveKill } from './kill.ts';
import type { ProofReport } from './report.ts';
import type { ProofStore } from './stores.ts';

export interface KillDatabaseOptions {
  readonly kills: number;
  readonly seed: number;
  readonly restartLimitMs?: number;
}

/** Kills PostgreSQL itself under load: nothing acknowledged is lost, and the server finds it again in the time promised. */
export function proveKillDatabase(store: ProofStore, options: KillDatabaseOptions): Promise<ProofReport> {
  return proveKill(store, { ...options, how: 'database' });
}
