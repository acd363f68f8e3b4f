/** Sessions that are programs on this machine. The prompt comes on standard input, or where `{prompt}` stands. */

import type { Platform } from '../../client/platform.ts';
import { killLeftovers } from '../shell-leftovers.ts';
import { GuardedProgram, type ProgramEnd } from './guardian.ts';
import { SessionOutput } from './output.ts';
import {
  failedEnd,
  type Say,
  type Session,
  type SessionEnd,
  type SessionOrder,
  type SessionRunner,
} from './session.ts';
import type { Surroundings } from './surroundings.ts';

/** By which processes of a session are known, whatever became of their group. */
const SESSION_VARIABLE = 'SPINE_SESSION_ID';

const PROMPT = '{prompt}';
const STDERR_CHARS = 2_000;

export interface CommandRunnerOptions {
  readonly platform: Platform;
  readonly surroundings: Surroundings;
  readonly command: readonly string[];
  /** How much is kept of what a session prints; little unless said. */
  readonly keptBytes?: number;
}

export interface Printed extends ProgramEnd {
  readonly stdout: string;
  readonly stderr: string;
}

/** What the end of a program means. */
export type Judge = (printed: Printed, order: SessionOrder) => SessionEnd;

export class CommandRunner implements SessionRunner {
  readonly name: string;
  readonly hasEnvironment = true;
  readonly #options: CommandRunnerOptions;
  readonly #judge: Judge;
  readonly #argumentsOf: (order: SessionOrder) => readonly string[];

  constructor(
    options: CommandRunnerOptions,
    name = 'command',
    judge: Judge = byExitCode,
    argumentsOf: (order: SessionOrder) => readonly string[] = () => [],
  ) {
    this.name = name;
    this.#options = options;
    this.#judge = judge;
    this.#argumentsOf = argumentsOf;
  }

  async begin(order: SessionOrder, say: Say): Promise<Session> {
    const { platform, surroundings } = this.#options;
    const words = [...this.#options.command, ...this.#argumentsOf(order)];
    const takesWord = words.includes(PROMPT);
    const output = new SessionOutput(say, this.#options.keptBytes);
    const program = new GuardedProgram(platform, {
      command: words.map((word) => (word === PROMPT ? order.prompt : word)),
      cwd: surroundings.folderFor(order.workingDir),
      env: surroundings.environmentWith({ ...order.env, [SESSION_VARIABLE]: order.id }),
      input: takesWord ? '' : order.prompt,
      // A lease lasts at least this much longer than its last renewal but one.
      silenceMs: order.leaseMs / 2,
      onOutput: output.add,
    });
    // Those that left the group carry its name still.
    const endRest = () => killLeftovers(platform, order.id, SESSION_VARIABLE);
    const ended = program.ended.then(async (end) => {
      await endRest();
      output.flush();
      return this.#judge({ ...end, stdout: output.stdout, stderr: output.stderr }, order);
    });
    const kill = async (): Promise<void> => {
      await program.kill();
      await endRest();
    };
    return { ended, kill };
  }

  async endLeftover(id: string): Promise<void> {
    await killLeftovers(this.#options.platform, id, SESSION_VARIABLE);
  }
}

/** The exit code is the verdict. */
function byExitCode(printed: Printed): SessionEnd {
  const { exitCode, lost, stdout, stderr } = printed;
  if (lost === null && exitCode === 0) return { ok: true, text: stdout, reason: null, facts: { exitCode } };
  return failedEnd(whyFailed(printed), { exitCode, stderr: stderr.slice(-STDERR_CHARS) }, stdout);
}

export function whyFailed({ exitCode, lost, stderr }: Printed): string {
  const last = stderr.trim().split('\n').at(-1)?.slice(0, 500) ?? '';
  return `${lost ?? `Exit code ${exitCode}.`}${last === '' ? '' : ` ${last}`}`;
}
