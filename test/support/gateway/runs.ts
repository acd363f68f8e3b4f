/** The stand-in's sessions and the turns in them: one at a time in each session, the others wait. */

/** What the agent will do with a turn. */
export interface Plan {
  readonly text?: string;
  readonly delayMs?: number;
  /** Runs until the test lets it end. */
  readonly hang?: boolean;
  /** The tool that it is in while it hangs. */
  readonly tool?: string;
  readonly failure?: Failure;
}

/** How the model failed: as chat completions tells it, and in the words of the WebSocket. */
export interface Failure {
  readonly status: number;
  readonly type: string;
  readonly message: string;
}

export type End =
  | { readonly status: 'ok'; readonly text: string }
  | { readonly status: 'failed'; readonly failure: Failure }
  | { readonly status: 'killed' }
  | { readonly status: 'timeout' };

export interface Run {
  readonly runId: string;
  readonly key: string;
  readonly message: string;
  /** Only turns over the WebSocket are in the task changeSet. */
  readonly inLedger: boolean;
  readonly ended: Promise<End>;
  state: 'queued' | 'running' | 'finished';
  end: End | null;
  lastActivityAt: number;
  toolUseCount: number;
  tool: { readonly name: string; readonly startedAt: number } | null;
  readonly finish: (end: End) => void;
}

export interface Session {
  readonly key: string;
  status: 'running' | 'done' | 'failed' | 'killed' | 'timeout';
  updatedAt: number;
  abortedLastRun: boolean;
  lastRunId: string | null;
  readonly messages: Record<string, unknown>[];
}

export const USAGE = { input: 100, output: 7, total: 107 };

export class Runs {
  readonly sessions = new Map<string, Session>();
  readonly runs: Run[] = [];
  readonly #planFor: (message: string) => Plan;

  constructor(planFor: (message: string) => Plan) {
    this.#planFor = planFor;
  }

  start(turn: Pick<Run, 'runId' | 'key' | 'message' | 'inLedger'>, timeoutMs?: number): Run {
    const { promise: ended, resolve } = Promise.withResolvers<End>();
    const run: Run = {
      ...turn,
      ended,
      state: 'queued',
      end: null,
      lastActivityAt: Date.now(),
      toolUseCount: 0,
      tool: null,
      finish: (end) => {
        if (run.end !== null) return;
        run.end = end;
        run.state = 'finished';
        this.#written(run, end);
        resolve(end);
        this.#next(run.key);
      },
    };
    this.runs.push(run);
    if (timeoutMs !== undefined) setTimeout(() => run.finish({ status: 'timeout' }), timeoutMs).unref();
    this.#next(run.key);
    return run;
  }

  live(key: string): Run | undefined {
    return this.runs.find((run) => run.key === key && run.state !== 'finished');
  }

  byId(runId: string): Run | undefined {
    return this.runs.findLast((run) => run.runId === runId);
  }

  /** Shows a sign of life, as streaming or a tool call does. */
  touch(key: string, tool?: string): void {
    const run = this.live(key);
    if (run === undefined) throw new Error(`nothing runs in ${key}`);
    run.lastActivityAt += 1;
    run.tool = tool === undefined ? null : { name: tool, startedAt: run.lastActivityAt };
    if (tool !== undefined) run.toolUseCount += 1;
  }

  /** A crash: every turn is gone, its session still says running. */
  crash(): void {
    for (const session of this.sessions.values()) {
      if (session.status === 'running') session.abortedLastRun = true;
    }
    this.runs.length = 0;
  }

  #next(key: string): void {
    const run = this.live(key);
    if (run === undefined || run.state === 'running') return;
    run.state = 'running';
    run.lastActivityAt = Date.now();
    const session = this.sessions.get(key) ?? newSession(key);
    this.sessions.set(key, session);
    Object.assign(session, { status: 'running', updatedAt: Date.now(), abortedLastRun: false });
    session.messages.push({
      role: 'user',
      content: run.message,
      timestamp: Date.now(),
      idempotencyKey: `${run.runId}:user`,
    });
    this.#act(run, this.#planFor(run.message));
  }

  #act(run: Run, plan: Plan): void {
    if (plan.tool !== undefined) this.touch(run.key, plan.tool);
    if (plan.hang === true) return;
    const end: End =
      plan.failure === undefined
        ? { status: 'ok', text: plan.text ?? `echo: ${run.message}` }
        : { status: 'failed', failure: plan.failure };
    if (plan.delayMs === undefined) queueMicrotask(() => run.finish(end));
    else setTimeout(() => run.finish(end), plan.delayMs).unref();
  }

  #written(run: Run, end: End): void {
    const session = this.sessions.get(run.key);
    if (session === undefined) return;
    // A model that fails half-way has counted what it was given.
    if (end.status === 'ok' || end.status === 'failed') {
      session.messages.push({
        role: 'assistant',
        content: end.status === 'ok' ? [{ type: 'text', text: end.text }] : [],
        timestamp: Date.now(),
        usage: { input: USAGE.input, output: USAGE.output, totalTokens: USAGE.total },
        __openclaw: { runId: run.runId },
      });
    }
    session.status = end.status === 'ok' ? 'done' : end.status;
    session.abortedLastRun = end.status === 'killed';
    session.updatedAt = Date.now();
    session.lastRunId = run.runId;
  }
}

function newSession(key: string): Session {
  return { key, status: 'running', updatedAt: 0, abortedLastRun: false, lastRunId: null, messages: [] };
}
