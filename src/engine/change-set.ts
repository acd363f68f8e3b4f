/** What one flush or transaction changes: rows as they were and as they are decided to be, and everything to be written with them. */

import { SYSTEM } from '../domain/actor.ts';
import { isToldWhenSettled } from '../domain/chat-text.ts';
import type { Actor, Decision, LogLine, Rewording, SideWrites, WriteKind } from '../domain/command.ts';
import type { EventDraft, JobEvent } from '../domain/event.ts';
import { isFinal, type Job, type JobInput, rootOf, SETTLED, type State, UNSETTLED } from '../domain/job.ts';
import { LIMITS } from '../domain/limits.ts';
import type { OutboxDraft } from '../domain/outbox.ts';
import { mayHoldGatewaySlot, needsSlots, targetOfGatewayPool } from '../domain/pool.ts';
import type { ProviderLimit } from '../domain/provider-limit.ts';
import type { Question } from '../domain/question.ts';
import { RUN_ACTIVE, type RunNote } from '../domain/run.ts';
import { endsStreak } from '../domain/streak.ts';
import { isTally, quarterOf, TALLIES, type Tally } from '../domain/tally.ts';
import { added, moreThan, NO_USAGE, raisedTo, type Usage, usageIn } from '../domain/usage.ts';
import type { AttemptUsage, Change, NewRow, Tx } from '../store/store.ts';
import { Announcer, type Subscribers } from './announcing.ts';

interface Entry extends Change {
  after: Job;
  kind: WriteKind;
}

/** What the engine must wake once the flush is durable. */
export interface Effects {
  /** How many jobs became ready, by target. */
  readonly queued: Map<string, number>;
  /** Lineages, by their first jobs, of which a member has ended and is settled, or is gone. */
  readonly ended: number[];
  unsettled: boolean;
  /** Something now waits for a moment in time. */
  timed: boolean;
  /** Something is to be sent. */
  delivering: boolean;
  /** Tokens or money were spent. */
  spent: boolean;
  /** What is handed out was changed. */
  routed: boolean;
  /** Rows that are different now, and what happened to them: for whoever counts it and tells of it. */
  changes: readonly Change[];
  events: readonly JobEvent[];
  /** A tick is due whose probe is to be asked. */
  probing: boolean;
}

/** What to tell the outside when a job ends or waits for somebody's word; `input` comes with the latter. */
export type OutboxPolicy = (job: Job, input?: JobInput) => OutboxDraft | null;

/** Who is told of what a commit brings about. */
export interface Audience {
  readonly outbox: OutboxPolicy;
  readonly subscribers: Subscribers;
}

export class ChangeSet {
  readonly now: number;
  readonly effects: Effects = {
    queued: new Map(),
    ended: [],
    unsettled: false,
    timed: false,
    delivering: false,
    spent: false,
    routed: false,
    changes: [],
    events: [],
    probing: false,
  };
  readonly announcer: Announcer;
  /** Limits of providers that attempts have met. */
  readonly limits: ProviderLimit[] = [];
  readonly #entries = new Map<number, Entry>();
  readonly #byId = new Map<string, Entry>();
  readonly #events: JobEvent[] = [];
  readonly #outcomes = new Map<number, { jobNo: number; result: string | null; error: string | null }>();
  /** Outcomes whose result was written before, and stays. */
  readonly #errors = new Map<number, { jobNo: number; error: string | null }>();
  readonly #comments: { jobNo: number; seq: number; at: number; by: string; text: string }[] = [];
  readonly #logs: { jobNo: number; attempt: number; line: LogLine }[] = [];
  readonly #counts = new Map<State, Map<string, number>>();
  readonly #tally = new Map<Tally, number>();
  /** What holders said that a claim took, by the number of its job. */
  readonly #spent = new Map<number, { readonly fence: number; readonly usage: Usage }>();
  readonly #notes: { jobNo: number; note: RunNote }[] = [];
  readonly #questions: { job: Job; question: Omit<Question, 'no'> }[] = [];
  readonly #checkpoints = new Map<number, string>();
  /** What joins the meta of jobs, as JSON. */
  readonly #metadata: { jobNo: number; metadata: string }[] = [];
  readonly #reworded: { jobNo: number; asked: Rewording }[] = [];
  readonly #outbox: OutboxDraft[] = [];
  /** Runs of schedules that somebody opened again: they are under way once more. */
  readonly #reopened = new Set<number>();
  /** Jobs that came up for approval, and jobs that ended before anybody decided. */
  readonly #toAsk = new Set<Job>();
  readonly #notNeeded = new Map<number, Job>();
  /** Questions whose jobs do not wait for them any more, and jobs that need their checkpoint no more. */
  readonly #unasked: string[] = [];
  readonly #goneBy = new Set<number>();
  readonly #madeReady = new Set<number>();

  constructor(now: number) {
    this.now = now;
    this.announcer = new Announcer(now);
  }

  load(job: Job): Job {
    return this.#entryOf(job).after;
  }

  /** A job that commands may name: only such can be found by their id. */
  loadNamed(job: Job): void {
    this.#byId.set(job.id, this.#entryOf(job));
  }

  #entryOf(job: Job): Entry {
    const known = this.#entries.get(job.no);
    if (known !== undefined) return known;
    const entry: Entry = { before: job, after: job, kind: 'other' };
    this.#entries.set(job.no, entry);
    return entry;
  }

  find(id: string): Job | null {
    return this.#byId.get(id)?.after ?? null;
  }

  /** As it is decided to be so far. */
  known(no: number): Job | null {
    return this.#entries.get(no)?.after ?? null;
  }

  /** Whether the row still holds the slots it had when the flush began. */
  wasRunning(job: Job): boolean {
    return this.#entries.get(job.no)?.before.state === 'running';
  }

  /** Whether another unfinished job of this change has the unique key of this one. */
  holdsKey({ no, typeNo, uniqueKey }: Job): boolean {
    for (const { after } of this.#entries.values())
      if (
        after.uniqueKey === uniqueKey &&
        after.typeNo === typeNo &&
        after.no !== no &&
        !isFinal(after.state)
      )
        return true;
    return false;
  }

  /** Takes over what a decision says; commands on the same job see each other's result. */
  apply(decision: Decision, actor: Actor): void {
    const { job, writes } = decision;
    const entry = this.#entries.get(job.no);
    if (entry === undefined) throw new Error(`job ${job.no} was decided without being loaded`);
    if (entry.after.state !== job.state) this.#moved(entry.after, job);
    else if (entry.after.target !== job.target) this.#readdressed(entry.after, job);
    else if (entry.after.runAt !== job.runAt) this.effects.timed = true;
    // Whatever follows on another change is no longer that one alone.
    if (entry.after !== job) entry.kind = entry.after === entry.before ? (decision.kind ?? 'other') : 'other';
    entry.after = job;
    for (const event of decision.events) this.#record(entry, event);
    if (writes?.outcome) this.#keepOutcome(job.no, writes.outcome);
    if (writes?.comment !== undefined) {
      this.#comments.push({
        jobNo: job.no,
        seq: job.comments,
        at: this.now,
        by: actor.name,
        text: writes.comment,
      });
    }
    if (writes?.question) this.#questions.push({ job, question: writes.question });
    if (writes?.checkpoint !== undefined) this.#keepCheckpoint(job.no, writes.checkpoint);
    if (writes?.metadata !== undefined) this.#metadata.push({ jobNo: job.no, metadata: writes.metadata });
    if (writes?.asked) this.#reworded.push({ jobNo: job.no, asked: writes.asked });
    if (writes?.note) this.#notes.push({ jobNo: job.no, note: writes.note });
    for (const line of writes?.logs ?? []) this.#logs.push({ jobNo: job.no, attempt: job.attempts, line });
  }

  /** Changes a row without a command of its own, e.g. a parent that is now watched. */
  amend(job: Job, events: readonly EventDraft[] = []): void {
    this.apply({ job, events, answer: { ok: true, job } }, SYSTEM);
  }

  async insert(tx: Tx, rows: readonly NewRow[], event: (row: NewRow) => EventDraft): Promise<Job[]> {
    const nos = await tx.jobs.insert(rows);
    return rows.map((row, i) => {
      // The copy first: V8 makes it in one step then, and field by field otherwise.
      const job: Job = { ...row.job, no: nos[i] as number };
      this.loadNamed(job);
      this.#entered(job);
      if (job.retryOf !== null) this.#tallyOf('retried');
      this.#tell(job, job.updatedAt, event(row));
      return job;
    });
  }

  /** A row that is about to be deleted leaves the statistics. */
  forget(job: Job): void {
    this.#count(job.target, job.state, -1);
    this.effects.ended.push(rootOf(job));
  }

  /** Writes everything. The events come last but one: on PostgreSQL their place is drawn after the last row lock. */
  async save(tx: Tx, laneKey: string, audience: Audience): Promise<void> {
    await this.#passOnSlots(tx);
    await this.#requestApprovals(tx, audience);
    for (const asked of this.#questions) await this.#ask(tx, asked, audience.subscribers);
    const changes = [...this.#entries.values()].filter((entry) => entry.before !== entry.after);
    if (changes.some(({ after }) => endsStreak(after))) endStreaks(tx, changes);
    this.effects.changes = changes;
    this.effects.events = this.#events;
    for (const entry of changes) {
      this.#announce(entry, audience.outbox);
      if (entry.after.settled === SETTLED && entry.before.settled !== SETTLED)
        this.effects.ended.push(rootOf(entry.after));
    }
    if (audience.subscribers.list.length > 0 || audience.subscribers.chat !== null)
      await this.#wholeOutcomes(tx);
    if (audience.subscribers.list.length > 0) await this.#tellSubscribers(tx, changes, audience.subscribers);
    if (audience.subscribers.chat !== null) await this.#tellChat(tx, changes, audience.subscribers);
    const counts = this.#sortedCounts();
    if (changes.length > 0) tx.defer(tx.jobs.update(changes));
    if (this.#outcomes.size > 0) tx.defer(tx.jobs.saveOutcomes([...this.#outcomes.values()]));
    if (this.#errors.size > 0) tx.defer(tx.jobs.saveErrors([...this.#errors.values()]));
    if (this.#comments.length > 0) tx.defer(tx.comments.add(this.#comments));
    if (this.#logs.length > 0) tx.defer(tx.logs.add(this.#logs));
    if (this.#checkpoints.size > 0)
      tx.defer(tx.checkpoints.save([...this.#checkpoints].map(([jobNo, value]) => ({ jobNo, value }))));
    for (const id of this.#unasked) tx.defer(tx.questions.end(id, CLOSED, this.now));
    for (const no of this.#goneBy) tx.defer(tx.checkpoints.remove(no));
    for (const no of this.#reopened) tx.defer(tx.runs.setActivity(no, RUN_ACTIVE));
    for (const { jobNo, note } of this.#notes) tx.defer(tx.runs.note(jobNo, note));
    if (this.#metadata.length > 0) await tx.jobs.joinMeta(this.#metadata);
    if (this.#reworded.length > 0) await tx.jobs.reword(this.#reworded);
    if (this.#outbox.length > 0) tx.defer(tx.outbox.add(this.#outbox));
    if (this.announcer.drafts.length > 0) await this.#deliver(tx);
    if (this.#events.length > 0) tx.defer(tx.feed.add(this.#events, this.now));
    if (counts.length > 0) tx.defer(tx.counters.add(laneKey, counts));
    if (this.#outcomes.size > 0) this.#readUsage();
    if (this.#spent.size > 0) await this.#spend(tx, laneKey);
    if (this.#tally.size > 0 && audience.subscribers.chat !== null) tx.defer(this.#saveTally(tx, laneKey));
    if (this.effects.queued.size > 0) tx.defer(tx.notify([...this.effects.queued.keys()]));
  }

  /** Slots of jobs that stopped running go to the best waiters, in the same commit. */
  async #passOnSlots(tx: Tx): Promise<void> {
    const stopped: number[] = [];
    for (const { before, after } of this.#entries.values()) {
      if (after.state === 'running' || !(needsSlots(before) || mayHoldGatewaySlot(after))) continue;
      // A job may be claimed and ended within one flush: then only its fence tells that it ran.
      if (before.state === 'running' || after.fence > before.fence) stopped.push(before.no);
    }
    if (stopped.length === 0) return;
    for (const pool of await tx.pools.releaseSlots(stopped)) {
      const target = targetOfGatewayPool(pool);
      // Whoever waits for work there can take some now, on whatever server.
      if (target !== null) this.#ready(target, 1);
      else await this.requeueWaiters(tx, pool, stopped.length);
    }
  }

  /** Somebody is asked once a job has come up for approval; one that ended meanwhile needs no answer any more. */
  async #requestApprovals(tx: Tx, { outbox, subscribers }: Audience): Promise<void> {
    for (const job of this.#toAsk) {
      await tx.approvals.request(job.no, this.now);
      const input = await tx.jobs.inputOf(job.no);
      const notice = outbox(job, input);
      if (notice !== null) this.#outbox.push(notice);
      await this.announcer.asked(tx, job, input, subscribers);
    }
    for (const { no, reason } of this.#notNeeded.values())
      await tx.approvals.resolve(no, {
        status: 'rejected',
        resolvedAt: this.now,
        resolvedBy: 'operator',
        notes: reason ?? 'the job ended before anybody decided',
      });
  }

  async #ask(tx: Tx, { job, question }: { job: Job; question: Omit<Question, 'no'> }, to: Subscribers) {
    await tx.questions.insert([question]);
    await this.announcer.questioned(tx, job, question, to);
  }

  /** A job has ended for good when no retry will come any more. */
  async #tellSubscribers(tx: Tx, changes: readonly Entry[], subscribers: Subscribers): Promise<void> {
    for (const { before, after } of changes)
      if (isOver(after) && !isOver(before))
        await this.announcer.ended(tx, after, subscribers, this.#outcomes.get(after.no));
  }

  /** Each end of an announced job, and each failure that somebody opens again before it could be told. */
  async #tellChat(tx: Tx, changes: readonly Entry[], subscribers: Subscribers): Promise<void> {
    const announced = changes.filter(({ after }) => after.announce);
    const ended = announced
      .filter(({ before, after }) => isFinal(after.state) && !isFinal(before.state))
      .map(({ after }) => after)
      .filter((job) => !isToldWhenSettled(job));
    if (ended.length > 0) await this.announcer.endedInChat(tx, ended, this.#outcomes, subscribers);
    const opened = announced
      .filter(({ before, after }) => !isFinal(after.state) && isFinal(before.state))
      .map(({ before }) => before)
      .filter((job) => isToldWhenSettled(job) && job.settled !== SETTLED);
    for (const job of opened) await this.announcer.failedInChat(tx, job, null, subscribers);
  }

  /** What a claim took so far. */
  took({ no, fence }: Job, usage: Usage): void {
    const known = this.#spent.get(no);
    this.#spent.set(no, { fence, usage: known?.fence === fence ? raisedTo(known.usage, usage) : usage });
  }

  /** Results and errors may tell of it, too. */
  #readUsage(): void {
    for (const { jobNo, result, error } of this.#outcomes.values()) {
      const usage = usageIn(result) ?? usageIn(error);
      const job = this.#entries.get(jobNo)?.after;
      if (usage !== null && job !== undefined && !this.#spent.has(jobNo)) this.took(job, usage);
    }
  }

  async #spend(tx: Tx, laneKey: string): Promise<void> {
    const claims = [...this.#spent].map(([jobNo, { fence }]) => ({ jobNo, fence }));
    const known = new Map((await tx.usage.known(claims)).map((each) => [each.jobNo, each]));
    const attempts: AttemptUsage[] = [];
    const sums = new Map<number, { reports: number; usage: Usage }>();
    for (const [jobNo, { fence, usage: said }] of this.#spent) {
      const typeNo = this.#entries.get(jobNo)?.after.typeNo ?? 0;
      const before = known.get(jobNo);
      const usage = raisedTo(before?.usage ?? NO_USAGE, said);
      attempts.push({ jobNo, fence, typeNo, at: this.now, usage });
      // A job may be put off, and claimed again, without end.
      if (before === undefined && fence > LIMITS.usageClaims)
        tx.defer(tx.usage.dropEarlier(jobNo, fence - LIMITS.usageClaims + 1));
      const sum = sums.get(typeNo) ?? { reports: 0, usage: NO_USAGE };
      const more = moreThan(before?.usage ?? NO_USAGE, usage);
      const reports = sum.reports + (before === undefined ? 1 : 0);
      sums.set(typeNo, { reports, usage: added(sum.usage, more) });
    }
    const ofTypes = [...sums].toSorted(([a], [b]) => a - b).map(([typeNo, sum]) => ({ typeNo, ...sum }));
    tx.defer(tx.usage.save(attempts));
    tx.defer(tx.usage.spend(laneKey, quarterOf(this.now), ofTypes));
    this.effects.spent = true;
  }

  /** Always in the same order, like the counts. */
  #saveTally(tx: Tx, laneKey: string) {
    const counts = TALLIES.flatMap((kind) => {
      const n = this.#tally.get(kind);
      return n === undefined ? [] : [[kind, n] as const];
    });
    return tx.tallies.add(laneKey, quarterOf(this.now), counts);
  }

  async #deliver(tx: Tx): Promise<void> {
    await tx.deliveries.add(this.announcer.drafts);
    this.effects.delivering = true;
  }

  /** Lets the best waiters of every target look again: as many as may have room. */
  async requeueWaiters(tx: Tx, pool: string, room: number): Promise<number> {
    const waiters = (await tx.pools.bestWaiters(pool, room))
      .map((job) => this.load(job))
      .filter((job) => job.state === 'blocked');
    for (const job of waiters) {
      const next: Job = { ...job, state: 'queued', blockedOn: null, updatedAt: this.now };
      this.amend(next, [{ kind: 'job.queued', by: SYSTEM.name, facts: { pool } }]);
    }
    return waiters.length;
  }

  #record({ before, after: job }: Entry, draft: EventDraft): void {
    if (LOST.has(draft.kind) && !isFinal(job.state)) this.#tallyOf('retried');
    job.seq += 1;
    job.updatedAt = Math.max(job.updatedAt, before.updatedAt);
    this.#tell(job, before.updatedAt, draft);
  }

  /** Writers look at the clock before they get the row's lock, so the later one may have looked first. */
  #tell(job: Job, lastAt: number, { kind, by, facts }: EventDraft): void {
    const at = Math.max(this.now, lastAt);
    this.#events.push({ jobNo: job.no, seq: job.seq, at, kind, by, facts: facts ?? null });
  }

  #moved(from: Job, to: Job): void {
    this.#count(from.target, from.state, -1);
    if (isFinal(to.state)) this.#tallyOf(to.state);
    if (to.approval === 'needed' && isFinal(to.state)) this.#notNeeded.set(to.no, to);
    if (to.scheduleId !== null && isFinal(from.state) && !isFinal(to.state)) this.#reopened.add(to.no);
    if (from.question !== null && to.question === null) this.#unasked.push(from.question);
    if (from.checkpointAt !== null && to.checkpointAt === null) this.#forgetCheckpoint(from.no);
    if (this.#madeReady.delete(from.no)) this.#ready(from.target, -1);
    if (to.state === 'queued') to.queuedAt = this.now;
    this.#entered(to);
  }

  /** It waits as before, for somebody else. */
  #readdressed(from: Job, to: Job): void {
    this.#count(from.target, from.state, -1);
    this.#count(to.target, to.state, 1);
    if (to.state !== 'queued') return;
    if (this.#madeReady.has(from.no)) this.#ready(from.target, -1);
    this.#madeReady.add(to.no);
    this.#ready(to.target, 1);
  }

  #tallyOf(state: State | 'retried'): void {
    if (isTally(state)) this.#tally.set(state, (this.#tally.get(state) ?? 0) + 1);
  }

  #entered(job: Job): void {
    this.#count(job.target, job.state, 1);
    if (job.state === 'queued') {
      this.#madeReady.add(job.no);
      this.#ready(job.target, 1);
    }
    if (job.state === 'scheduled' || (job.state === 'running' && job.timeoutAt !== null))
      this.effects.timed = true;
    if (job.question !== null || job.startBefore !== null) this.effects.timed = true;
    if (job.state === 'awaiting_approval') {
      this.#toAsk.add(job);
      this.effects.timed = true;
    }
    if (job.settled === UNSETTLED) this.effects.unsettled = true;
  }

  #keepOutcome(jobNo: number, { result, error }: NonNullable<SideWrites['outcome']>): void {
    const known = this.#outcomes.get(jobNo);
    if (result === undefined && known === undefined) this.#errors.set(jobNo, { jobNo, error });
    else {
      this.#outcomes.set(jobNo, {
        jobNo,
        result: result === undefined ? (known?.result ?? null) : result,
        error,
      });
      this.#errors.delete(jobNo);
    }
  }

  /** Whoever is told of an end is told of a result that was there before, too. */
  async #wholeOutcomes(tx: Tx): Promise<void> {
    if (this.#errors.size === 0) return;
    const kept = await tx.details.outcomes([...this.#errors.keys()]);
    for (const { jobNo, error } of this.#errors.values())
      this.#outcomes.set(jobNo, { jobNo, result: kept.get(jobNo)?.result ?? null, error });
    this.#errors.clear();
  }

  #keepCheckpoint(no: number, value: string): void {
    this.#checkpoints.set(no, value);
    this.#goneBy.delete(no);
  }

  #forgetCheckpoint(no: number): void {
    this.#checkpoints.delete(no);
    this.#goneBy.add(no);
  }

  /** What becomes ready and is taken within one flush is nobody's news. */
  #ready(target: string, by: number): void {
    const count = (this.effects.queued.get(target) ?? 0) + by;
    if (count > 0) this.effects.queued.set(target, count);
    else this.effects.queued.delete(target);
  }

  #count(target: string, state: State, by: number): void {
    let targets = this.#counts.get(state);
    if (targets === undefined) this.#counts.set(state, (targets = new Map<string, number>()));
    targets.set(target, (targets.get(target) ?? 0) + by);
  }

  /** Always in the same order, so that two servers that share a lane's name never deadlock. */
  #sortedCounts(): { target: string; state: State; by: number }[] {
    const deltas = [...this.#counts].flatMap(([state, targets]) =>
      [...targets].map(([target, by]) => ({ target, state, by })),
    );
    const key = (delta: { target: string; state: State }): string => `${delta.target}\n${delta.state}`;
    return deltas.filter(({ by }) => by !== 0).toSorted((a, b) => (key(a) < key(b) ? -1 : 1));
  }

  #announce({ before, after }: Entry, outbox: OutboxPolicy): void {
    if (isFinal(before.state) || !isFinal(after.state)) return;
    const draft = outbox(after);
    if (draft !== null) this.#outbox.push(draft);
  }
}

/** An attempt came to nothing. Where the job goes on all the same, another one follows. */
const LOST: ReadonlySet<string> = new Set(['job.failed', 'job.timeout', 'job.expired']);

/** If its answer came with this very commit, that was written before. */
const CLOSED = { status: 'closed', answer: null, answeredBy: null, answeredAt: null } as const;

function isOver({ state, settled, retryAt }: Job): boolean {
  return isFinal(state) && settled === SETTLED && retryAt === null;
}

/** Streaks are locked after jobs and before all else, here and where they grow. */
function endStreaks(tx: Tx, changes: readonly Change[]): void {
  const done = changes.filter(({ before, after }) => endsStreak(after) && !isFinal(before.state));
  const typeNos = new Set(done.map(({ after }) => after.typeNo));
  if (typeNos.size > 0) tx.defer(tx.streaks.end([...typeNos]));
}
