/** Does jobs by turns of an agent at a gateway. What is sent is written down first, so that nothing is sent twice unknowingly. */

import { JobFailure } from '../client/errors.ts';
import type { JobContext } from '../client/job-run.ts';
import type { ClaimedJob } from '../client/types.ts';
import {
  type Gateway,
  GatewayError,
  type Transport,
  type TurnRef,
  type TurnResult,
} from '../gateway/gateway.ts';
import { sentinelOf } from '../prompt/plan.ts';
import { askedIn } from './asked-in-reply.ts';
import { type Assignment, assignmentOf, runKeyOf } from './assignment.ts';
import { attended, type AttendHost, type BeginTurn, type TurnContext } from './gateway-turn.ts';
import { failureOf, isLost, isTurnedAway, putOff } from './gateway-failure.ts';
import { type Occasion, recover } from './gateway-recovery.ts';
import { promptAt } from './gateway-prompt.ts';
import { mailArrived } from './mail-arrived.ts';
import { isSystemEvent, wakeMainSession } from './main-session.ts';
import type { Begun, WorkerLog } from './ports.ts';
import type { Runner } from './runner.ts';

export interface GatewayRunnerOptions extends AttendHost {
  readonly gateway: Gateway;
  readonly log: WorkerLog;
  /** The gateway may be away. */
  readonly onTrouble: () => void;
}

/** Longer replies are cut: they are kept with the job. */
const REPLY_CHARS = 500_000;

export class GatewayRunner implements Runner {
  readonly #options: GatewayRunnerOptions;
  readonly #outliving = new Set<string>();

  constructor(options: GatewayRunnerOptions) {
    this.#options = options;
  }

  outlives(jobId: string): boolean {
    return this.#outliving.has(jobId);
  }

  readonly run = async (job: ClaimedJob, context: JobContext): Promise<unknown> => {
    const assignment = assignmentOf(job);
    try {
      if (isSystemEvent(assignment)) return await wakeMainSession(this.#options, assignment);
      const result = await this.#resultOf(assignment, context);
      // A reply that comes after the job was to stop is nobody's any more.
      context.signal.throwIfAborted();
      return judged(result);
    } catch (error) {
      throw this.#explained(error, assignment);
    } finally {
      this.#outliving.delete(job.id);
    }
  };

  #explained(error: unknown, { agentId }: Assignment): unknown {
    if (!(error instanceof GatewayError)) return error;
    const { gateway, onTrouble } = this.#options;
    if (!isTurnedAway(error)) return failureOf(error, gateway.name, agentId);
    onTrouble();
    return putOff(error);
  }

  async #resultOf(assignment: Assignment, context: TurnContext): Promise<TurnResult> {
    const begun = await this.#options.notes.begun(assignment.job);
    const earlier = begun && (await this.#recovered(assignment, begun, context));
    return earlier ?? (await this.#dispatch(assignment, context));
  }

  async #recovered(assignment: Assignment, begun: Begun, context: TurnContext): Promise<TurnResult | null> {
    // Of a job without a plan nobody could write down how it was sent: it is looked for where it would be now.
    const transport = begun.transport ?? (await this.#options.gateway.transport());
    const sessionKey = begun.sessionKey ?? assignment.sessionKey;
    const turn = turnRef({ ...assignment, sessionKey }, transport as Transport, begun.at);
    return await this.#recover(assignment, turn, 'restart', context);
  }

  async #dispatch(assignment: Assignment, context: TurnContext): Promise<TurnResult> {
    const { gateway, notes } = this.#options;
    const { job, plan, agentId, sessionKey } = assignment;
    const transport = await gateway.transport();
    const begunAt = notes.now();
    const { text: message, record, messages } = await promptAt(this.#options, assignment, begunAt);
    await notes.begin(job, { at: begunAt, sessionKey, transport, ...record });
    const turn = turnRef(assignment, transport, begunAt);
    const order = {
      agentId,
      sessionKey,
      runKey: turn.runKey,
      message,
      model: plan?.schedule.payloadModel ?? null,
      thinking: plan?.schedule.payloadThinking ?? null,
      timeoutMs: job.timeoutMs ?? null,
    };
    let sent = false;
    let accepted = false;
    const begin = (stop: AbortSignal): Promise<TurnResult> => {
      sent = true;
      return gateway.run(order, transport, stop, () => {
        accepted = true;
      });
    };
    try {
      context.signal.throwIfAborted();
      const result = await this.#attended(assignment, turn, begin, context);
      if (messages > 0) await this.#mailArrived(assignment);
      return result;
    } catch (error) {
      if (error instanceof GatewayError && isLost(error)) return await this.#lost(assignment, turn, context);
      const turnedAway = error instanceof GatewayError && isTurnedAway(error) && !accepted;
      if (turnedAway || !sent) await notes.takeBack(job);
      throw error;
    }
  }

  /** Only a turn that ended well shows that its prompt came to somebody: one that was taken may fail before anybody reads it. */
  async #mailArrived({ job, plan }: Assignment): Promise<void> {
    if (plan !== null) await mailArrived(this.#options, job);
  }

  async #lost(assignment: Assignment, turn: TurnRef, context: TurnContext): Promise<TurnResult> {
    this.#options.onTrouble();
    // A turn that was lost under us was sent, so that its recovery ends with its answer or a failure.
    return (await this.#recover(assignment, turn, 'lost', context)) as TurnResult;
  }

  #recover(assignment: Assignment, turn: TurnRef, occasion: Occasion, context: TurnContext) {
    const { gateway, platform, log } = this.#options;
    const follow = async (turn: TurnRef): Promise<TurnResult> => {
      const result = await this.#attended(assignment, turn, (stop) => gateway.follow(turn, stop), context);
      await this.#mailArrived(assignment);
      return result;
    };
    return recover({ gateway, platform, log, follow }, assignment, turn, occasion, context.signal);
  }

  #attended(
    assignment: Assignment,
    turn: TurnRef,
    begin: BeginTurn,
    context: TurnContext,
  ): Promise<TurnResult> {
    if (turn.transport === 'websocket') this.#outliving.add(assignment.job.id);
    return attended(this.#options, assignment, turn, begin, context);
  }
}

function turnRef(assignment: Assignment, transport: Transport, startedAt: number): TurnRef {
  const { agentId, sessionKey } = assignment;
  return { agentId, sessionKey, runKey: runKeyOf(assignment, startedAt), transport, startedAt };
}

/** The agent says itself when it could not do it, or must know more; whatever else it talks about is its answer. */
function judged({ text, usage, sessionKey }: TurnResult): object {
  const asked = askedIn(text);
  if (asked !== null) throw asked;
  const result = { text: text.slice(0, REPLY_CHARS), usage, sessionKey };
  if (sentinelOf(text) !== 'TASK_FAILED') return result;
  throw new JobFailure(result.text, { details: result });
}
