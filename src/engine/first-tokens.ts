/**
 * The tokens that servers of one database make for themselves when the settings name none: once for all of them, kept
 * by their hashes. They are stored tokens like any other, under the names of the three roles.
 */

import { hash } from 'node:crypto';
import { SYSTEM } from '../domain/actor.ts';
import { FIRST_ROLES, type FirstRole } from '../domain/token.ts';
import type { Tx } from '../store/store.ts';
import { keepAgents } from './agents.ts';
import { audit } from './audit.ts';
import type { ChangeSet } from './change-set.ts';
import type { Core } from './core.ts';

export type TokenOfRole = Readonly<Record<FirstRole, string>>;

/** Where the tokens were written down when they were made. */
const PLACE = 'first_tokens';
const ROLES = Object.keys(FIRST_ROLES) as FirstRole[];

export interface Kept {
  /** They were made by this call. */
  readonly made: boolean;
  /** Where those that were made last are written down; null when none ever were. */
  readonly place: string | null;
}

/**
 * Of servers that come at one moment the first makes them; the others wait for it at the lock. Where somebody can
 * administer the installation already, by a token made otherwise, none are made.
 */
export async function keepFirstTokens(core: Core, place: string, make: () => TokenOfRole): Promise<Kept> {
  const kept = await core.flusher.transact(SYSTEM, async (tx, changeSet): Promise<Kept> => {
    await tx.tokens.lock();
    const known = await tx.meta.get(PLACE);
    const tokens = await tx.tokens.all();
    if (known !== null || tokens.some(({ role, revokedAt }) => role === 'head' && revokedAt === null))
      return { made: false, place: known };
    await put(core, tx, changeSet, place, make());
    return { made: true, place };
  });
  await core.tokens.refresh();
  return kept;
}

/** New ones, in place of those that there are under these names. */
export async function renewFirstTokens(core: Core, place: string, tokens: TokenOfRole): Promise<void> {
  await core.flusher.transact(SYSTEM, async (tx, changeSet) => {
    await tx.tokens.lock();
    for (const { name } of Object.values(FIRST_ROLES)) {
      if (await tx.tokens.revoke(name, changeSet.now, SYSTEM.name))
        await audit(tx, changeSet, SYSTEM, 'token.revoke', name);
    }
    await put(core, tx, changeSet, place, tokens);
  });
}

/** Whether these are the living ones. */
export async function areFirstTokens(core: Core, tokens: Readonly<Record<FirstRole, readonly string[]>>) {
  const found = await Promise.all(
    ROLES.flatMap((role) =>
      tokens[role].map(
        async (token) => (await core.tokens.actorOf(hashOf(token)))?.name === FIRST_ROLES[role].name,
      ),
    ),
  );
  return found.length > 0 && found.every(Boolean);
}

async function put(
  core: Core,
  tx: Tx,
  changeSet: ChangeSet,
  place: string,
  tokens: TokenOfRole,
): Promise<void> {
  const { now } = changeSet;
  for (const role of ROLES) {
    const { name, role: right, targets } = FIRST_ROLES[role];
    await tx.tokens.add({
      id: core.ids.jobId(now),
      name,
      role: right,
      targets,
      grants: null,
      hash: hashOf(tokens[role]),
      createdAt: now,
      createdBy: SYSTEM.name,
      revokedAt: null,
    });
    await audit(tx, changeSet, SYSTEM, 'token.add', name, { role: right, targets });
  }
  const workers = Object.values(FIRST_ROLES).filter(({ role }) => role === 'worker');
  await keepAgents(
    tx,
    workers.map(({ name }) => [name, null]),
    now,
  );
  await tx.meta.set(PLACE, place);
}

function hashOf(token: string): string {
  return hash('sha256', token, 'hex');
}
