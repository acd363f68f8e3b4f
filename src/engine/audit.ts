/** The record of administrative acts: who did what to which part of the installation. */

import type { Actor } from '../domain/command.ts';
import type { Tx } from '../store/store.ts';
import type { Core } from './core.ts';
import type { AuditTrail } from './engine.ts';
import type { Ledger } from './ledger.ts';

/** Written in the same transaction as the act itself. */
export async function audit(
  tx: Tx,
  ledger: Ledger,
  actor: Actor,
  action: string,
  subject: string,
  facts: Readonly<Record<string, unknown>> | null = null,
): Promise<void> {
  await tx.addAudit({ at: ledger.now, by: actor.name, action, subject, facts });
}

export function auditOf(core: Core): AuditTrail {
  return { list: async (beforeNo, limit) => core.store.read.audit(beforeNo, limit) };
}
