/** The record of administrative acts: who did what to which part of the installation. */

import type { Actor } from '../domain/command.ts';
import type { Tx } from '../store/store.ts';
import type { Core } from './core.ts';
import type { AuditTrail } from './engine.ts';
import type { ChangeSet } from './change-set.ts';

/** Written in the same transaction as the act itself. */
export async function audit(
  tx: Tx,
  changeSet: ChangeSet,
  actor: Actor,
  action: string,
  subject: string,
  facts: Readonly<Record<string, unknown>> | null = null,
): Promise<void> {
  await tx.audit.add({ at: changeSet.now, by: actor.name, action, subject, facts });
}

export function auditOf(core: Core): AuditTrail {
  return { list: async (beforeNo, limit) => core.store.read.audit.before(beforeNo, limit) };
}
