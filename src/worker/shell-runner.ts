/** Does the jobs of schedules that run a command on this machine. */

import { JobFailure, JobInterrupted } from '../client/errors.ts';
import type { JobContext } from '../client/job-run.ts';
import type { Platform } from '../client/platform.ts';
import type { ClaimedJob } from '../client/types.ts';
import { contextSummary } from '../prompt/context-summary.ts';
import { isReplayed, planOf, type RunPlan } from '../prompt/plan.ts';
import { rejection } from './time-limit.ts';
import { crashed } from './gateway-failure.ts';
import { type Command, CommandLost, type Commands, type RunNotes, type WorkerLog } from './ports.ts';
import type { Runner } from './runner.ts';
import { shellEnvironment, type ShellSurroundings } from './shell-environment.ts';
import { killLeftovers } from './shell-leftovers.ts';
import type { ShellEnd } from './shell-process.ts';

export interface ShellRunnerOptions extends ShellSurroundings {
  readonly platform: Platform;
  readonly commands: Commands;
  readonly notes: RunNotes;
  readonly log: WorkerLog;
}

/** An error is written into the job's history too, so it keeps less of each stream than a result does. */
const ERROR_CHARS = 8_000;

export class ShellRunner implements Runner {
  readonly #options: ShellRunnerOptions;

  constructor(options: ShellRunnerOptions) {
    this.#options = options;
  }

  outlives(): boolean {
    return false;
  }

  readonly run = async (job: ClaimedJob, { signal }: JobContext): Promise<unknown> => {
    const plan = planOf(job);
    if (plan === null || typeof job.spec !== 'string')
      throw new JobFailure('Commands are run for schedules only.', { requeue: false });
    await this.#refuseSecondStart(job, plan);
    const firstRunId = await this.#options.notes.firstOf(job);
    const env = shellEnvironment(this.#options, job, plan, firstRunId);
    const shell = await this.#options.commands.start(job.spec, env);
    try {
      return judged(await this.#endOf(shell, job, plan, signal));
    } finally {
      shell.closed();
    }
  };

  /** What an earlier server began is ended first: one run is never two commands at once. */
  async #refuseSecondStart(job: ClaimedJob, plan: RunPlan): Promise<void> {
    const { notes, log } = this.#options;
    if ((await notes.begun(job)) === null) return;
    const killed = await this.#endLeft(job);
    const replayed = isReplayed(plan);
    log.warn(replayed ? 'A run crashed and is replayed' : 'A run crashed and is not replayed', {
      job: job.id,
      killed,
    });
    throw crashed('The server stopped during this command.', replayed);
  }

  /** While something of it may be at work nothing is replayed. */
  #endLeft({ id }: ClaimedJob): Promise<number> {
    return killLeftovers(this.#options.platform, id).catch((error: Error) => {
      throw crashed(error.message, false);
    });
  }

  async #endOf(shell: Command, job: ClaimedJob, plan: RunPlan, signal: AbortSignal): Promise<ShellEnd> {
    let begun = false;
    try {
      await this.#noted(job, plan, shell);
      signal.throwIfAborted();
      begun = true;
      return await this.#ended(job, shell, signal);
    } catch (error) {
      await shell.kill();
      if (error instanceof CommandLost) {
        await this.#endLeft(job);
        throw crashed(error.message, isReplayed(plan));
      }
      if (!begun && signal.aborted) await this.#options.notes.takeBack(job);
      const isShutdown = begun && error instanceof JobInterrupted && error.why === 'shutdown';
      throw isShutdown ? crashed('The server stopped during this command.', isReplayed(plan)) : error;
    }
  }

  /** The process waits until its group is written down. */
  async #noted(job: ClaimedJob, plan: RunPlan, shell: Command): Promise<void> {
    if (shell.pid === null) return;
    const { notes } = this.#options;
    await notes.begin(job, {
      at: notes.now(),
      sessionKey: `shell:${shell.pid}`,
      transport: 'shell',
      contextSummary: contextSummary(plan),
    });
  }

  async #ended(job: ClaimedJob, shell: Command, signal: AbortSignal): Promise<ShellEnd> {
    const { platform } = this.#options;
    const over = new AbortController();
    const limit = job.timeoutMs === undefined ? null : timeLimit(platform, job.timeoutMs);
    try {
      const interrupted = rejection(signal, over.signal);
      const first = await Promise.race([shell.go(), interrupted, ...(limit ? [limit.reached] : [])]);
      if (first !== 'timeout') return first;
      await shell.kill();
      throw failed(await shell.go(), `The command took longer than ${job.timeoutMs} ms.`, 'timeout');
    } finally {
      limit?.cancel();
      over.abort();
    }
  }
}

function timeLimit(platform: Platform, timeoutMs: number) {
  let cancel = (): void => {};
  const reached = new Promise<'timeout'>((resolve) => {
    cancel = platform.after(timeoutMs, () => resolve('timeout'));
  });
  return { reached, cancel };
}

function judged(end: ShellEnd): object {
  const { exitCode, signal, stdout, stderr } = end;
  if (exitCode === 0) return { exitCode, stdout, stderr };
  throw failed(end, exitCode === null ? `Ended by ${signal}.` : `Exit code ${exitCode}.`);
}

function failed(end: ShellEnd, message: string, cause: 'timeout' | null = null): JobFailure {
  const { exitCode, signal } = end;
  const stdout = shortened(end.stdout);
  const stderr = shortened(end.stderr);
  return new JobFailure(message, { details: { exitCode, signal, stdout, stderr }, cause });
}

function shortened(text: string): string {
  if (text.length <= ERROR_CHARS) return text;
  const half = ERROR_CHARS / 2;
  return `${text.slice(0, half)}\n[... ${text.length - ERROR_CHARS} characters left out ...]\n${text.slice(-half)}`.toWellFormed();
}
