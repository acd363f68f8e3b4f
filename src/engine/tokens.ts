/** Tokens beyond the environment's: stored hashed, looked up in memory, revoked at once. */

import { createHmac, hash, timingSafeEqual } from 'node:crypto';
import type { Actor } from '../domain/command.ts';
import { SpineError } from '../domain/error.ts';
import { mayBeNamed } from '../domain/names.ts';
import type { Token } from '../domain/token.ts';
import { keepAgents } from './agents.ts';
import { audit } from './audit.ts';
import type { Reads } from '../store/store.ts';
import type { Core } from './core.ts';
import { agentAtGateway } from './message-rights.ts';
import type { Tokens } from './engine.ts';
import { Strangers } from './strangers.ts';

/** A token that stands for one attempt: `run.<job id>.<lease token>`. It ends when the lease does. */
const RUN = /^run\.([\w-]{1,64})\.([\w-]{16,64})$/;

/**
 * For the agent of one dispatch: `turn.<job id>.<when>.<proof>`. A lease changes hands while a turn goes on at a gateway,
 * so the token is tied to the dispatch, which whoever adopts the turn takes over.
 */
const TURN = /^turn\.([\w-]{1,64})\.(\d{1,16})\.[\w-]{43}$/;
const TURN_SECRET = 'turn_secret';

export function tokensOf(core: Core): Tokens {
  const strangers = new Strangers(core.store);
  return {
    add: async (actor, draft) => {
      // Two lease tokens' worth of randomness.
      const token = `spn_${newSecret(core)}`;
      const stored: Token = {
        ...draft,
        grants: draft.grants ?? null,
        id: core.ids.jobId(core.now()),
        hash: hashOf(token),
        createdAt: core.now(),
        createdBy: actor.name,
        revokedAt: null,
      };
      await refuseTaken(core, draft);
      const facts = {
        role: draft.role,
        targets: draft.targets,
        ...(draft.grants && { grants: draft.grants }),
      };
      await core.flusher.transact(actor, async (tx, changeSet) => {
        await tx.tokens.add(stored);
        // A worker is an agent, and hears what is said to all from now on.
        if (draft.role === 'worker') await keepAgents(tx, [[draft.name, null]], changeSet.now);
        await tx.audit.add({
          at: changeSet.now,
          by: actor.name,
          action: 'token.add',
          subject: draft.name,
          facts,
        });
      });
      // It is shown only now; where nobody can look, it is known a moment later.
      await core.tokens.refresh().catch(() => undefined);
      return { token, stored };
    },
    list: async () => core.store.read.tokens.all(),
    revoke: async (actor, which) => {
      const found = await core.flusher.transact(actor, async (tx, changeSet) => {
        const revoked = await tx.tokens.revoke(which, changeSet.now, actor.name);
        if (revoked) await audit(tx, changeSet, actor, 'token.revoke', which);
        return revoked;
      });
      if (!found) throw new SpineError('not_found', { token: which });
      await core.tokens.refresh();
    },
    actorBehind: async (token) => {
      const turn = TURN.exec(token);
      if (turn !== null) return turnBehind(core, strangers, turn[1] ?? '', Number(turn[2]), token);
      const hashed = hashOf(token);
      const run = RUN.exec(token);
      if (run === null) return core.tokens.actorOf(hashed);
      return strangers.lookUp(hashed, (read) => runBehind(core, read, run[1] ?? '', run[2] ?? ''));
    },
    ofTurn: (jobId, dispatchedAt) => turnToken(core, jobId, dispatchedAt),
    onChange: (listener) => core.tokens.onChange(listener),
  };
}

async function refuseTaken(core: Core, { name, role }: Pick<Token, 'name' | 'role'>): Promise<void> {
  if (!mayBeNamed(name, role))
    throw new SpineError('conflict', { name }, { message: `${name} is somebody else's name.` });
  const tokens = await core.store.read.tokens.all();
  if (tokens.some((token) => token.name === name && token.revokedAt === null)) {
    throw new SpineError('conflict', { name, why: 'a token of that name exists' });
  }
  // A token would speak as that user.
  if ((await core.store.read.users.all()).some((user) => user.name === name)) {
    throw new SpineError('conflict', { name, why: 'a user has that name' });
  }
}

async function runBehind(core: Core, read: Reads, jobId: string, leaseToken: string): Promise<Actor | null> {
  const job = await read.jobs.byId(jobId);
  if (job?.state !== 'running' || job.leaseToken === null || job.claimedBy === null) return null;
  if (!isSame(job.leaseToken, leaseToken)) return null;
  // What a worker handed on ends with the worker's own right.
  if (!(await core.tokens.mayHold(job.claimedBy, job.target, job.updatedAt))) return null;
  // A run has the grants of whoever holds it, and no others.
  const grants = await core.tokens.grantsOf(job.claimedBy);
  return { name: job.claimedBy, role: 'run', targets: [job.target], onlyJob: job.id, leaseToken, grants };
}

async function turnToken(core: Core, jobId: string, dispatchedAt: number): Promise<string> {
  const proof = createHmac('sha256', await core.tokens.secret(TURN_SECRET, () => newSecret(core)));
  return `turn.${jobId}.${dispatchedAt}.${proof.update(`${jobId}.${dispatchedAt}`).digest('base64url')}`;
}

async function turnBehind(
  core: Core,
  strangers: Strangers,
  jobId: string,
  dispatchedAt: number,
  token: string,
): Promise<Actor | null> {
  if (!isSame(token, await turnToken(core, jobId, dispatchedAt))) return null;
  return strangers.lookUp(hashOf(token), (read) => runOfTurn(core, read, jobId, dispatchedAt));
}

async function runOfTurn(
  core: Core,
  read: Reads,
  jobId: string,
  dispatchedAt: number,
): Promise<Actor | null> {
  const job = await read.jobs.byId(jobId);
  if (job?.state !== 'running' || job.leaseToken === null || job.claimedBy === null) return null;
  const [run] = await read.runs.byNo([job.no]);
  if (run?.dispatchedAt !== dispatchedAt) return null;
  const { claimedBy: name, target, leaseToken } = job;
  const agent = await agentAtGateway(read, job);
  // It speaks for its agent, so that what the agent's own token may say counts.
  const grants = agent === null ? [] : await core.tokens.grantsOf(agent);
  const own = {
    name,
    role: 'run',
    targets: [target],
    onlyJob: jobId,
    leaseToken,
    shown: true,
    grants,
  } as const;
  return agent === null ? own : { ...own, agent };
}

function newSecret(core: Core): string {
  return `${core.ids.leaseToken()}${core.ids.leaseToken()}`;
}

/** Digests have one length, and comparing them takes one time. */
function isSame(a: string, b: string): boolean {
  return timingSafeEqual(hash('sha256', a, 'buffer'), hash('sha256', b, 'buffer'));
}

function hashOf(token: string): string {
  return hash('sha256', token, 'hex');
}
