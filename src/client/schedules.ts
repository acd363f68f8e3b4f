/** Schedules, their runs, and what waits for somebody's word. Names are those of the server: snake_case. */

import type { Call, Caller, CallOptions } from './caller.ts';
import type {
  AppliedSet,
  Approval,
  ApprovalFilter,
  CancelledSchedule,
  DeletedSchedule,
  MissedTicks,
  NewSchedule,
  PutSchedule,
  Run,
  RunFilter,
  RunPage,
  RunPrompt,
  Schedule,
  ScheduleFilter,
  ScheduleNode,
  SchedulePage,
  SchedulePreview,
  ScheduleSet,
  StartedRun,
  Verdict,
} from './schedule-types.ts';

export class Schedules {
  readonly #caller: Caller;

  constructor(caller: Caller) {
    this.#caller = caller;
  }

  /** Not repeated after trouble: a schedule that was made twice would fire twice. */
  create(schedule: NewSchedule, options?: CallOptions): Promise<Schedule> {
    return this.#caller.json(send('POST', '/schedules', schedule, { repeatable: false, options }));
  }

  /** Creates it, or makes the one of that name as this says; what it does not say has its default. */
  put(schedule: NewSchedule, options?: CallOptions): Promise<PutSchedule> {
    return this.#caller.json(send('PUT', '/schedules', schedule, { repeatable: true, options }));
  }

  /** A whole set, parents first: all of it or, when one is wrong, nothing. */
  apply(set: ScheduleSet, options?: CallOptions): Promise<AppliedSet> {
    return this.#caller.json(send('POST', '/schedules/apply', set, { repeatable: true, options }));
  }

  /** All that fit, page after page. */
  async *list(filter: ScheduleFilter = {}, options?: CallOptions): AsyncGenerator<Schedule, void> {
    let after: number | undefined;
    do {
      const page = await this.listPage(filter, after, options);
      yield* page.schedules;
      after = page.next_after ?? undefined;
    } while (after !== undefined);
  }

  listPage(filter: ScheduleFilter = {}, after?: number, options?: CallOptions): Promise<SchedulePage> {
    return this.#caller.json(read('/schedules', options, { ...filter, after }));
  }

  /** All of them as chains. */
  async tree(options?: CallOptions): Promise<readonly ScheduleNode[]> {
    const answer = await this.#caller.json<{ schedules: ScheduleNode[] }>(read('/schedules/tree', options));
    return answer.schedules;
  }

  /** By id, or by the beginning of one. */
  get(id: string, options?: CallOptions): Promise<Schedule> {
    return this.#caller.json(read(pathOf(id), options));
  }

  /** Only the named fields change; null asks for the default again. */
  update(id: string, change: Partial<NewSchedule>, options?: CallOptions): Promise<Schedule> {
    return this.#caller.json(send('PATCH', pathOf(id), change, { repeatable: true, options }));
  }

  /** How it would be after that change. */
  rehearse(id: string, change: Partial<NewSchedule>, options?: CallOptions): Promise<Schedule> {
    const call = send('PATCH', pathOf(id), change, { repeatable: true, options });
    return this.#caller.json({ ...call, query: { dry_run: true } });
  }

  /** With everything below it. */
  remove(id: string, options?: CallOptions): Promise<DeletedSchedule> {
    // A second removal would say that there is no such schedule.
    return this.#caller.json({ method: 'DELETE', path: pathOf(id), repeatable: false, options });
  }

  enable(id: string, options?: CallOptions): Promise<Schedule> {
    return this.#caller.json(send('POST', `${pathOf(id)}/enable`, {}, { repeatable: true, options }));
  }

  disable(id: string, options?: CallOptions): Promise<Schedule> {
    return this.#caller.json(send('POST', `${pathOf(id)}/disable`, {}, { repeatable: true, options }));
  }

  /** Disables it and ends its runs, with everything below it unless `cascade` is false. */
  cancel(
    id: string,
    { cascade = true }: { readonly cascade?: boolean } = {},
    options?: CallOptions,
  ): Promise<CancelledSchedule> {
    const call = send('POST', `${pathOf(id)}/cancel`, {}, { repeatable: true, options });
    return this.#caller.json({ ...call, query: { cascade } });
  }

  /** A run by hand. Not repeated after trouble: two calls make two runs. */
  run(id: string, options?: CallOptions): Promise<StartedRun> {
    return this.#caller.json(send('POST', `${pathOf(id)}/run`, {}, { repeatable: false, options }));
  }

  /** When it fires next, and its rule in words. */
  preview(id: string, n?: number, options?: CallOptions): Promise<SchedulePreview> {
    return this.#caller.json(read(`${pathOf(id)}/preview`, options, { n }));
  }

  /** When a schedule would fire that does not exist; its trigger is enough. */
  previewNew(schedule: Partial<NewSchedule>, n?: number, options?: CallOptions): Promise<SchedulePreview> {
    const call = send('POST', '/schedules/preview', schedule, { repeatable: true, options });
    return this.#caller.json({ ...call, query: { n } });
  }

  /** Ticks that did not fire, newest first. */
  async missed(id: string, limit?: number, options?: CallOptions): Promise<readonly MissedTicks[]> {
    const call = read(`${pathOf(id)}/missed`, options, { limit });
    return (await this.#caller.json<{ missed: MissedTicks[] }>(call)).missed;
  }

  /** Newest first. */
  runs(id: string, filter: Omit<RunFilter, 'status'> = {}, options?: CallOptions): Promise<RunPage> {
    return this.#caller.json(read(`${pathOf(id)}/runs`, options, { ...filter }));
  }

  /** Lets its oldest waiting run go. */
  approve(id: string, verdict: Omit<Verdict, 'hash'> = {}, options?: CallOptions): Promise<Approval> {
    return this.#caller.json(send('POST', `${pathOf(id)}/approve`, verdict, { repeatable: false, options }));
  }

  reject(id: string, verdict: Omit<Verdict, 'hash'> = {}, options?: CallOptions): Promise<Approval> {
    return this.#caller.json(send('POST', `${pathOf(id)}/reject`, verdict, { repeatable: false, options }));
  }
}

export class Runs {
  readonly #caller: Caller;

  constructor(caller: Caller) {
    this.#caller = caller;
  }

  /** Newest first; `next_before` of the answer is the `before` of the next page. */
  list(filter: RunFilter = {}, options?: CallOptions): Promise<RunPage> {
    return this.#caller.json(read('/runs', options, { ...filter }));
  }

  get(id: string, options?: CallOptions): Promise<Run> {
    return this.#caller.json(read(runPath(id), options));
  }

  /** What its agent saw. */
  prompt(id: string, options?: CallOptions): Promise<RunPrompt> {
    return this.#caller.json(read(`${runPath(id)}/prompt`, options));
  }

  /** Running ones that showed no life for so long; 90 s unless said. */
  async stale(
    filter: { readonly threshold_s?: number; readonly limit?: number } = {},
    options?: CallOptions,
  ): Promise<readonly Run[]> {
    return (await this.#caller.json<{ runs: Run[] }>(read('/runs/stale', options, { ...filter }))).runs;
  }

  cancel(id: string, end: { readonly reason?: string } = {}, options?: CallOptions): Promise<Run> {
    return this.#caller.json(send('POST', `${runPath(id)}/cancel`, end, { repeatable: true, options }));
  }
}

export class Approvals {
  readonly #caller: Caller;

  constructor(caller: Caller) {
    this.#caller = caller;
  }

  /** Newest first. */
  async list(filter: ApprovalFilter = {}, options?: CallOptions): Promise<readonly Approval[]> {
    const call = read('/approvals', options, { ...filter });
    return (await this.#caller.json<{ approvals: Approval[] }>(call)).approvals;
  }

  /** An approval has the id of the job that waits. */
  get(id: string, options?: CallOptions): Promise<Approval> {
    return this.#caller.json(read(approvalPath(id), options));
  }

  /** With `hash`, only if it is still what was seen. */
  approve(id: string, verdict: Verdict = {}, options?: CallOptions): Promise<Approval> {
    return this.#caller.json(
      send('POST', `${approvalPath(id)}/approve`, verdict, { repeatable: false, options }),
    );
  }

  reject(id: string, verdict: Verdict = {}, options?: CallOptions): Promise<Approval> {
    return this.#caller.json(
      send('POST', `${approvalPath(id)}/reject`, verdict, { repeatable: false, options }),
    );
  }
}

function pathOf(id: string): string {
  return `/schedules/${encodeURIComponent(id)}`;
}

function runPath(id: string): string {
  return `/runs/${encodeURIComponent(id)}`;
}

function approvalPath(id: string): string {
  return `/approvals/${encodeURIComponent(id)}`;
}

function read(path: string, options: CallOptions | undefined, query: Call['query'] = {}): Call {
  return { method: 'GET', path, query, repeatable: true, options };
}

function send(
  method: 'POST' | 'PUT' | 'PATCH',
  path: string,
  json: object,
  how: Pick<Call, 'repeatable' | 'options'>,
): Call {
  return { method, path, json, ...how };
}
