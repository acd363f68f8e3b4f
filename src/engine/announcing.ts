/** Makes deliveries of what a commit brings about: the end of a run, a question, an event that somebody wants to hear of. */

import { destinationOf, type Destination, type Place } from '../domain/alias.ts';
import { answerButtons, approvalButtons, type Button } from '../domain/button.ts';
import { endText } from '../domain/chat-text.ts';
import { addressOf, type DeliveryDraft, type DeliveryKind, type OperatorChat } from '../domain/delivery.ts';
import {
  toldOfApproval,
  toldOfEvent,
  toldOfQuestion,
  toldOfRun,
  toldOfStaleSlot,
} from '../domain/delivery-text.ts';
import type { Job, JobInput, Outcome } from '../domain/job.ts';
import { aliasAsked, type Question } from '../domain/question.ts';
import type { RunPlan, ScheduleSpec } from '../domain/schedule.ts';
import { endEvent, type Subscription, wants, wantsSlot } from '../domain/subscription.ts';
import type { WorkerSlot } from '../domain/worker-slot.ts';
import type { Tx } from '../store/store.ts';

export interface Subscribers {
  readonly list: readonly Subscription[];
  /** The chat of the operator; null where there is none. */
  readonly chat: OperatorChat | null;
  /** An id for a delivery. */
  readonly newId: (now: number) => string;
}

/** A text for somebody, and what can be pressed below it. */
export interface Telling {
  readonly kind: DeliveryKind;
  readonly text: string;
  readonly buttons?: readonly Button[];
  /** It belongs to what the same address has been told of the job just now. */
  readonly follows?: true;
}

const NONE_WRITTEN: ReadonlyMap<number, Outcome> = new Map();

/** Gathers the deliveries of one commit; an address hears of a job once. */
export class Announcer {
  readonly drafts: DeliveryDraft[] = [];
  readonly #now: number;
  readonly #told = new Set<string>();

  constructor(now: number) {
    this.#now = now;
  }

  /** How the schedule wants the end of its run told. */
  async runEnded(tx: Tx, job: Job, spec: ScheduleSpec, newId: Subscribers['newId']): Promise<void> {
    const destination = spec.deliveryMode === 'none' ? null : destinationOf(spec);
    if (destination === null) return;
    const told = toldOfRun(job, spec, await outcomeOf(tx, job));
    if (told !== null) await this.#add(tx, job, destination, told, newId);
  }

  async asked(tx: Tx, job: Job, input: JobInput, { list, chat, newId }: Subscribers): Promise<void> {
    const asked = {
      kind: 'approval',
      text: toldOfApproval(job.id, titleOf(job, input)),
      buttons: approvalButtons(job.id),
    } as const;
    if (chat !== null && job.announce) await this.#add(tx, job, chat, asked, newId);
    const own = job.scheduleId === null ? null : destinationOfPlan(input);
    if (own !== null) await this.#add(tx, job, own, asked, newId);
    for (const { alias } of list.filter((each) => wants(each, 'approval', job)))
      await this.#add(tx, job, { alias }, asked, newId);
  }

  /** The alias that is asked; of a name, where its schedule delivers; and whoever wants to hear of questions. */
  async questioned(
    tx: Tx,
    job: Job,
    question: Omit<Question, 'no'>,
    { list, newId }: Subscribers,
  ): Promise<void> {
    const input = await tx.jobs.inputOf(job.no);
    const told = {
      kind: 'question',
      text: toldOfQuestion(question, titleOf(job, input)),
      buttons: answerButtons(question.id, question.choices),
    } as const;
    const alias = aliasAsked(question);
    const own = job.scheduleId === null ? null : destinationOfPlan(input);
    const asked = alias === null ? own : { alias };
    if (asked !== null) await this.#add(tx, job, asked, told, newId);
    for (const each of list.filter((one) => wants(one, 'question', job)))
      await this.#add(tx, job, { alias: each.alias }, told, newId);
  }

  /** Tells those who want to know that a job has ended for good. `written` is its outcome when this commit brings it. */
  async ended(tx: Tx, job: Job, { list, newId }: Subscribers, written?: Outcome): Promise<void> {
    const event = endEvent(job);
    if (event === null) return;
    const wanted = list.filter((each) => wants(each, event, job));
    if (wanted.length === 0) return;
    const title = titleOf(job, await tx.jobs.inputOf(job.no));
    const text = toldOfEvent(job, event, title, written ?? (await outcomeOf(tx, job)));
    for (const { alias } of wanted) await this.#add(tx, job, { alias }, { kind: 'event', text }, newId);
  }

  /** A line for the operator's chat, of this job or of none. Another one of the same job in this commit is left out. */
  async chat(tx: Tx, job: Job | null, text: string, { chat, newId }: Subscribers): Promise<void> {
    if (chat !== null) await this.#add(tx, job, chat, { kind: 'chat', text }, newId, chat.batchMs);
  }

  /** How a job has failed, as it is known now, and what else there is to say of it. */
  async failedInChat(tx: Tx, job: Job, more: string | null, to: Subscribers): Promise<void> {
    const { chat, newId } = to;
    if (chat === null || !job.announce) return;
    await this.endedInChat(tx, [job], NONE_WRITTEN, to);
    if (more === null) return;
    const told = { kind: 'chat', text: more, follows: true } as const;
    await this.#add(tx, job, chat, told, newId, chat.batchMs);
  }

  /** To one place, of no job: the answer to a command of a chat. */
  async reply(tx: Tx, place: Place, told: Telling, newId: Subscribers['newId']): Promise<void> {
    await this.#add(tx, null, place, told, newId);
  }

  /** Tells the operator's chat how these jobs have ended. Outcomes that this commit does not bring are looked up. */
  async endedInChat(
    tx: Tx,
    jobs: readonly Job[],
    written: ReadonlyMap<number, Outcome>,
    to: Subscribers,
  ): Promise<void> {
    const titles = await tx.details.titles(jobs.map(({ no }) => no));
    const names = await fullNames(tx, jobs);
    for (const job of jobs) {
      const outcome = written.get(job.no) ?? (await outcomeOf(tx, job));
      const { claimedBy } = job;
      const ended = { ...job, claimedBy: names.get(claimedBy ?? '') ?? claimedBy };
      const text = endText(ended, titleOf(job, { title: titles.get(job.no) ?? null }), outcome);
      if (text !== null) await this.chat(tx, job, text, to);
    }
  }

  /** Tells those who want to know that a worker was not heard from. */
  async slotStale(tx: Tx, slot: WorkerSlot, { list, newId }: Subscribers): Promise<void> {
    for (const { alias } of list.filter((each) => wantsSlot(each, slot.slot)))
      await this.#add(tx, null, { alias }, { kind: 'event', text: toldOfStaleSlot(slot) }, newId);
  }

  async #add(
    tx: Tx,
    job: Job | null,
    destination: Destination,
    { kind, text, buttons = [], follows }: Telling,
    newId: Subscribers['newId'],
    waitMs = 0,
  ): Promise<void> {
    const name = 'alias' in destination ? destination.alias : null;
    const place = 'alias' in destination ? await tx.aliases.byName(destination.alias) : destination;
    const { channel, target } = place ?? { channel: '', target: '' };
    const jobNo = job?.no ?? null;
    const key = `${jobNo} ${place === null ? `@${name}` : addressOf(place)}`;
    if (jobNo !== null && this.#told.has(key) && !follows) return;
    this.#told.add(key);
    const problem = place === null ? `there is no alias @${name}` : null;
    const [id, at] = [newId(this.#now), this.#now];
    const dueAt = at + waitMs;
    const pressable = buttons.length === 0 ? null : buttons;
    const draft = { id, kind, jobNo, alias: name, channel, target, text, buttons: pressable };
    this.drafts.push({ ...draft, at, dueAt, problem });
  }
}

/** People know bots by the names that admins gave them; other workers have but one. */
async function fullNames(tx: Tx, jobs: readonly Job[]): Promise<ReadonlyMap<string, string>> {
  const holders = [...new Set(jobs.flatMap(({ claimedBy }) => claimedBy ?? []))];
  if (holders.length === 0) return new Map();
  return new Map((await tx.users.byNames(holders)).map(({ name, fullName }) => [name, fullName]));
}

async function outcomeOf(tx: Tx, { no }: Job): Promise<Outcome> {
  return (await tx.details.outcomes([no])).get(no) ?? { result: null, error: null };
}

function titleOf({ no }: Job, { title }: Pick<JobInput, 'title'>): string {
  return title ?? `#${no}`;
}

/** As its schedule was when the run was made; one that a rebuild found may have lost that. */
function destinationOfPlan({ meta }: JobInput): Destination | null {
  const { schedule } = JSON.parse(meta ?? '{}') as Partial<RunPlan>;
  if (schedule === undefined || schedule.deliveryMode === 'none') return null;
  return destinationOf(schedule);
}
