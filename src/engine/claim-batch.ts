/** Hands the ready jobs of a flush to the claimers of that flush, best job first, first claimer first. */

import type { Claim, ClaimedJob, ClaimNext, ClaimNextAnswer, JobCommand } from '../domain/command.ts';
import { decide } from '../domain/decide.ts';
import type { Job } from '../domain/job.ts';
import { hasLapsed } from '../domain/lapse.ts';
import { serves } from '../domain/lease.ts';
import { LIMITS } from '../domain/limits.ts';
import { needsSlots } from '../domain/pool.ts';
import type { Routing } from '../domain/routing.ts';
import type { MaybePromise, Tx } from '../store/store.ts';
import { FreeGatewaySlots } from './gateway-slots.ts';
import type { ChangeSet } from './change-set.ts';
import { RequirementSets } from './requirement-sets.ts';
import { fullPool, parked, takeSlotsFor } from './slots.ts';

/** Heads to read beyond the demand where full pools were met last time, so that one flush can pass many of them. */
const PARKING_WINDOW = 100;

/** Heads that one flush reads at most, of all targets and types together. */
const HEADS = 4_000;
/** What they may take with the inputs that come along; larger inputs are read when their jobs are shown. */
const HEADS_BYTES = 2 * LIMITS.answerBytes;

/** The ready jobs of one target (and type), read once for all claimers of the flush. */
interface Heads {
  readonly jobs: ClaimedJob[];
  next: number;
  /** As many came back as were asked for: there may be more behind them. */
  readonly cut: boolean;
}

interface ClaimSettings {
  readonly routing: Routing;
  readonly parking: Set<string>;
  readonly shared: boolean;
  readonly newToken: () => string;
}

const ANY_TYPE: readonly null[] = [null];
const NOTHING: ClaimNextAnswer = { ok: true, jobs: [], more: false };

export class ClaimBatch {
  readonly #tx: Tx;
  readonly #changeSet: ChangeSet;
  readonly #routing: Routing;
  /** Targets where the last flush met full pools; shared between flushes. */
  readonly #parking: Set<string>;
  /** Rows can be locked by somebody else; with one writer they never are. */
  readonly #canBeHidden: boolean;
  readonly #newToken: () => string;
  readonly #heads = new Map<string, Heads>();
  /** Where each claimer may look; asked for twice. */
  readonly #keysOf = new Map<ClaimNext, readonly string[]>();
  readonly #gatewaySlots: FreeGatewaySlots;
  readonly #sets: RequirementSets;
  /** What claims of this flush took under their claim ids, which the database cannot show yet. */
  readonly #byClaimId = new Map<string, ClaimedJob[]>();

  constructor(tx: Tx, changeSet: ChangeSet, settings: ClaimSettings) {
    this.#tx = tx;
    this.#gatewaySlots = new FreeGatewaySlots(tx);
    this.#sets = new RequirementSets(tx);
    this.#changeSet = changeSet;
    this.#routing = settings.routing;
    this.#parking = settings.parking;
    this.#canBeHidden = settings.shared;
    this.#newToken = settings.newToken;
  }

  /** Reads the ready jobs of every demanded target, once each. */
  async readHeads(commands: readonly ClaimNext[]): Promise<void> {
    await this.#gatewaySlots.reserve(commands);
    await this.#sets.look(commands);
    const demand = new Map<string, number>();
    let all = 0;
    for (const command of commands) {
      const most = this.#gatewaySlots.most(command);
      if (most === 0) continue;
      const keys = this.#keys(command);
      this.#keysOf.set(command, keys);
      for (const key of keys) {
        demand.set(key, (demand.get(key) ?? 0) + most);
        all += most;
      }
    }
    const share = Math.min(1, HEADS / all);
    const carriedBytes = Math.floor(HEADS_BYTES / Math.min(all, HEADS));
    await Promise.all(
      [...demand].map(async ([key, count]) =>
        this.#heads.set(key, await this.#read(key, Math.ceil(count * share), carriedBytes)),
      ),
    );
  }

  async serve(
    commands: readonly ClaimNext[],
    accepted: (command: JobCommand) => boolean,
  ): Promise<ClaimNextAnswer[]> {
    const answers: ClaimNextAnswer[] = [];
    for (const command of commands) {
      const wanted = command.onlyIf === null || accepted(command.onlyIf);
      answers.push(wanted ? await this.#serveOne(command) : NOTHING);
    }
    this.#offerRest();
    return answers;
  }

  /** What was locked here but not taken was hidden from other lanes and servers: they are told to look again. */
  #offerRest(): void {
    const { queued } = this.#changeSet.effects;
    for (const [key, { jobs, next }] of this.#heads) {
      const { target } = fromHeadKey(key);
      if (next < jobs.length) queued.set(target, (queued.get(target) ?? 0) + jobs.length - next);
    }
  }

  async #serveOne(command: ClaimNext): Promise<ClaimNextAnswer> {
    const { claimId } = command.terms;
    if (claimId !== null) {
      const known = this.#byClaimId.get(claimId) ?? (await this.#claimedUnder(claimId));
      const mine = known.filter(({ job }) => job.claimedBy === command.actor.name);
      if (mine.length > 0) return { ok: true, jobs: mine, more: false };
    }
    const lists = this.#listsOf(command);
    const taken: ClaimedJob[] = [];
    let bytes = 0;
    const most = this.#gatewaySlots.most(command);
    while (taken.length < most) {
      const best = bestOf(lists);
      // Behind a list that was read in part there may be better ones than in all others.
      if (best === null || (taken.length > 0 && lists.some(isUsedUp))) break;
      bytes += this.#bytesOf(best.candidate);
      if (taken.length > 0 && bytes > (command.maxBytes ?? LIMITS.answerBytes)) break;
      best.list.next += 1;
      const mayTake = this.#mayTake(best.candidate);
      if (!(mayTake instanceof Promise ? await mayTake : mayTake)) continue;
      const claimed = this.#take(best.candidate, command);
      if (claimed === null) continue;
      taken.push(claimed);
      if (command.gatewaySlots !== null) await this.#gatewaySlots.take(command, claimed.job);
    }
    if (claimId !== null) this.#byClaimId.set(claimId, taken);
    const more =
      taken.length === 0 &&
      most > 0 &&
      (lists.some((list) => list.cut) || (await this.#hidden(command, lists)));
    return { ok: true, jobs: taken, more };
  }

  #listsOf(command: ClaimNext): Heads[] {
    const lists: Heads[] = [];
    for (const key of this.#keysOf.get(command) ?? []) {
      const heads = this.#heads.get(key);
      if (heads !== undefined) lists.push(heads);
    }
    return lists;
  }

  /** As many as one answer may hold, the first in any case: jobs that were claimed by their ids may have one claim id too. */
  async #claimedUnder(claimId: string): Promise<ClaimedJob[]> {
    const claimed = await this.#tx.jobs.claimedUnder(claimId, LIMITS.claimJobs);
    const sized = claimed.map((one) => ({ ...one, bytes: this.#bytesOf(one) }));
    let all = 0;
    return sized.filter(({ bytes }, i) => (all += bytes) <= LIMITS.answerBytes || i === 0);
  }

  /** What a claimed job adds to the answer. */
  #bytesOf({ job, bytes }: ClaimedJob): number {
    return bytes + (job.typeNo === 0 ? 0 : (this.#routing.typeBytes.get(job.typeNo) ?? 0));
  }

  /** Ready jobs that another lane or server is looking at right now: it may leave some of them. */
  async #hidden(command: ClaimNext, lists: readonly Heads[]): Promise<boolean> {
    if (!this.#canBeHidden || command.typeNos !== null || lists.some((list) => list.jobs.length > 0))
      return false;
    for (const target of command.targets) {
      if (this.#heads.has(headKey(target, null, null)) && (await this.#tx.jobs.hasReady(target))) return true;
    }
    return false;
  }

  #mayTake(candidate: ClaimedJob): MaybePromise<boolean> {
    const job = this.#changeSet.load(candidate.job);
    if (job.state !== 'queued') return false;
    // The claim was made before its type was paused; the next look leaves such jobs out from the start.
    if (this.#routing.pausedTypes.has(job.typeNo)) return false;
    const willRun = job.attempts < job.maxAttempts && !hasLapsed(job, this.#changeSet.now);
    return willRun && needsSlots(job) ? this.#slotFor(job) : true;
  }

  #take(candidate: ClaimedJob, { actor, terms }: ClaimNext): ClaimedJob | null {
    const job = this.#changeSet.load(candidate.job);
    // Made here for what is there: a thousand tokens for a claim that finds one job would be a thousand times the work.
    const offer = { ...terms, token: this.#newToken() };
    const claim: Claim = { kind: 'claim', id: job.id, actor, offer };
    const decision = decide(job, claim, this.#changeSet.now);
    this.#changeSet.apply(decision, actor);
    return decision.answer.ok
      ? { job: decision.answer.job, input: candidate.input, bytes: this.#bytesOf(candidate) }
      : null;
  }

  /** A job whose pool is full steps out of the queue until a slot is freed. */
  async #slotFor(job: Job): Promise<boolean> {
    const full = await fullPool(this.#tx, job);
    if (full === null) {
      await takeSlotsFor(this.#tx, job);
      return true;
    }
    this.#parking.add(job.target);
    const park = parked(job, full, this.#changeSet.now);
    this.#changeSet.amend(park.job, park.events);
    return false;
  }

  /** One key for each list of heads: a target, what is required there, and one type when only some types may be taken. */
  #keys({ actor, targets, typeNos, terms, door }: ClaimNext): string[] {
    if (door !== undefined && this.#routing.pausedDoors.has(door)) return [];
    const types = typeNos?.filter((no) => !this.#routing.pausedTypes.has(no)) ?? ANY_TYPE;
    const keys: string[] = [];
    for (const target of targets) {
      if (!serves(actor, target) || this.#routing.pausedTargets.has(target)) continue;
      for (const typeNo of types) keys.push(headKey(target, typeNo, null));
      for (const requires of this.#sets.of(target, terms.capabilities))
        for (const typeNo of types) keys.push(headKey(target, typeNo, requires));
    }
    return keys;
  }

  async #read(key: string, demand: number, carriedBytes: number): Promise<Heads> {
    const of = fromHeadKey(key);
    const window = this.#parking.delete(of.target) ? PARKING_WINDOW : 0;
    const limit = demand + window;
    const jobs = await this.#tx.jobs.ready(of, { limit, carriedBytes });
    return { jobs, next: 0, cut: jobs.length === limit };
  }
}

function isUsedUp({ jobs, next, cut }: Heads): boolean {
  return cut && next === jobs.length;
}

interface HeadsOf {
  readonly target: string;
  readonly typeNo: number | null;
  readonly requires: string | null;
}

function headKey(target: string, typeNo: number | null, requires: string | null): string {
  return `${typeNo ?? ''}\n${requires ?? ''}\n${target}`;
}

function fromHeadKey(key: string): HeadsOf {
  const [type, requires, target] = key.split('\n') as [string, string, string];
  return { target, typeNo: type === '' ? null : Number(type), requires: requires === '' ? null : requires };
}

/** The better of the lists' heads: higher priority first, then the older job. */
function bestOf(lists: readonly Heads[]): { list: Heads; candidate: ClaimedJob } | null {
  let best: { list: Heads; candidate: ClaimedJob } | null = null;
  for (const list of lists) {
    const candidate = list.jobs[list.next];
    if (candidate !== undefined && (best === null || before(candidate.job, best.candidate.job)))
      best = { list, candidate };
  }
  return best;
}

function before(a: Job, b: Job): boolean {
  return a.priority === b.priority ? a.no < b.no : a.priority > b.priority;
}
