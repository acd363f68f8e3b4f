import {
  type Activity,
  type Gateway,
  GatewayError,
  type GatewayErrorKind,
  type Readiness,
  type SessionRef,
  type Transport,
  type Turn,
  type TurnRef,
  type TurnResult,
} from '../../src/gateway/gateway.ts';

interface OpenTurn {
  readonly turn: Turn;
  readonly transport: Transport;
  readonly signal: AbortSignal;
  readonly accept: () => void;
  readonly answer: (text: string) => void;
  readonly fail: (error: Error) => void;
}

/** A gateway that does what its test says, and writes down what it was asked. */
export class ScriptedGateway implements Gateway {
  readonly name = 'main';
  readonly turns: OpenTurn[] = [];
  readonly follows: { readonly ref: TurnRef; readonly answer: (text: string) => void }[] = [];
  readonly aborts: SessionRef[] = [];
  readonly woken: { readonly text: string; readonly agentId: string }[] = [];
  readonly looks: TurnRef[] = [];
  ready = true;
  speaks: Transport = 'websocket';
  sees: Activity | ((ref: TurnRef) => Activity) = { status: 'running', mark: null, tool: null };
  onRun: (turn: OpenTurn) => void = () => undefined;
  onFollow: (ref: TurnRef) => Promise<TurnResult> | null = () => null;
  onWake: () => void = () => undefined;
  closed = false;

  get messages(): string[] {
    return this.turns.map(({ turn }) => turn.message);
  }

  async readiness(): Promise<Readiness> {
    return this.ready ? { ready: true, why: null } : { ready: false, why: 'gateway-draining' };
  }

  async transport(): Promise<Transport> {
    return this.speaks;
  }

  /** As the interface says: aborting the signal stops the turn. */
  run(turn: Turn, transport: Transport, signal: AbortSignal, accepted: () => void): Promise<TurnResult> {
    return new Promise((resolve, reject) => {
      const answer = (text: string): void => resolve(result(text, turn.sessionKey));
      const open = { turn, transport, signal, accept: accepted, answer, fail: reject };
      this.turns.push(open);
      const stopped = (): void => reject(failed('aborted', true));
      signal.addEventListener('abort', stopped, { once: true });
      this.onRun(open);
    });
  }

  async activity(ref: TurnRef): Promise<Activity> {
    this.looks.push(ref);
    return typeof this.sees === 'function' ? this.sees(ref) : this.sees;
  }

  follow(ref: TurnRef, signal: AbortSignal): Promise<TurnResult> {
    const scripted = this.onFollow(ref);
    if (scripted) return scripted;
    return new Promise((resolve, reject) => {
      this.follows.push({ ref, answer: (text) => resolve(result(text, ref.sessionKey)) });
      signal.addEventListener('abort', () => reject(failed('aborted', true)), { once: true });
    });
  }

  async abort(session: SessionRef): Promise<'aborted' | 'idle'> {
    this.aborts.push(session);
    return 'aborted';
  }

  async wake(text: string, agentId: string): Promise<void> {
    this.onWake();
    this.woken.push({ text, agentId });
  }

  async close(): Promise<void> {
    this.closed = true;
  }
}

export function failed(kind: GatewayErrorKind, accepted = false, message = `it is ${kind}`): GatewayError {
  return new GatewayError(kind, message, { accepted });
}

export function running(mark: string | null, tool: string | null = null): Activity {
  return { status: 'running', mark, tool };
}

export const ABSENT: Activity = { status: 'absent', mark: null, tool: null };
export const UNKNOWN: Activity = { status: 'unknown', mark: null, tool: null };
export const ENDED: Activity = { status: 'ended', mark: null, tool: null };

function result(text: string, sessionKey: string): TurnResult {
  return { text, usage: { inputTokens: 10, outputTokens: 2, totalTokens: 12 }, sessionKey };
}
