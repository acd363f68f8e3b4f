/**
 * A program under a guardian: a small shell that leads a process group of its own. It ends the whole group when the program
 * has ended, when this process is gone, or when nothing was heard from this process for too long. In the last two cases
 * nobody else looks for what has left the group: the guardian ends that as well, where the system shows environments.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Readable, Writable } from 'node:stream';
import type { Platform } from '../../client/platform.ts';
import { groupGone } from '../process-group.ts';
import { within } from '../time-limit.ts';

/**
 * 3 is the life line: every line on it says how long to wait for the next, and the first argument how long for the first: this
 * process may stand still from the very beginning. 4 takes the exit code. The program has neither.
 * `kill 0` is the whole group, the guardian included; what it says on 4 was said before. When nobody is left who could hear
 * that, this process is gone. A process outside of the group is one of the session when it carries its name. One that begins
 * another as it dies is looked for again.
 */
const GUARDIAN = `
limit=$1
shift
strays() {
  case $SPINE_SESSION_ID in ''|*'
'*) return ;; esac
  name="SPINE_SESSION_ID=$SPINE_SESSION_ID"
  for pass in 1 2 3 4 5; do
    found=
    for environment in $(grep -lsF -e "$name" /proc/[0-9]*/environ); do
      pid=\${environment#/proc/}
      pid=\${pid%/environ}
      read -r stat <"/proc/$pid/stat" || continue
      set -- \${stat##*) }
      [ "$3" = "$$" ] && continue
      tr '\\0' '\\n' <"$environment" | grep -qxF -e "$name" || continue
      kill -KILL "$pid"
      found=yes
    done
    [ "$found" ] || return
  done
}
exec 5<&0
"$@" <&5 3<&- 4>&- 5<&- &
work=$!
trap '' TERM INT HUP PIPE
exec 5<&- 0</dev/null 1>/dev/null 2>&1
(
  exec 4>&-
  while :; do
    (exec 3<&-; trap - TERM; sleep "$limit"; strays; kill -KILL 0) &
    timer=$!
    read -r limit <&3 || break
    kill -KILL "$timer"
  done
  kill -TERM 0
  sleep 1
  strays
  kill -KILL 0
) &
wait "$work"
echo "$?" >&4 || strays
kill -KILL 0
`;

const KILL_AFTER_MS = 2_000;
/** What is still on its way when the program has ended. */
const OUTPUT_CLOSES_MS = 500;
/** The shell's own codes: what it could not start, and what a signal ended. */
const NOT_STARTED: readonly number[] = [126, 127];
const SIGNALS_FROM = 128;

export interface ProgramOrder {
  readonly command: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** On standard input. */
  readonly input: string;
  /** How long this process may be silent. */
  readonly silenceMs: number;
  readonly onOutput: (chunk: Buffer, from: 'stdout' | 'stderr') => void;
}

export interface ProgramEnd {
  /** Null when a signal ended it, or the guardian itself. */
  readonly exitCode: number | null;
  /** In words, when there is no exit code. */
  readonly lost: string | null;
}

export class GuardedProgram {
  readonly ended: Promise<ProgramEnd>;
  readonly #platform: Platform;
  readonly #child: ChildProcess;
  #cancelBeat = (): void => {};
  #killed: Promise<void> | null = null;

  constructor(platform: Platform, order: ProgramOrder) {
    this.#platform = platform;
    const limit = secondsOf(order.silenceMs);
    this.#child = spawn('/bin/sh', ['-c', GUARDIAN, 'spine-session', limit, ...order.command], {
      cwd: order.cwd,
      env: order.env,
      detached: true,
      stdio: ['pipe', 'pipe', 'pipe', 'pipe', 'pipe'],
    });
    const { stdin, stdout, stderr } = this.#child;
    stdout?.on('data', (chunk: Buffer) => order.onOutput(chunk, 'stdout'));
    stderr?.on('data', (chunk: Buffer) => order.onOutput(chunk, 'stderr'));
    // A program that does not read, or has ended, has closed its pipes.
    for (const stream of [stdin, this.#lifeLine, this.#verdict]) stream?.on('error', () => undefined);
    stdin?.end(order.input);
    this.#planBeat(order.silenceMs);
    this.ended = this.#end();
    // Whoever waits hears of it; it must not count as unheard before.
    this.ended.catch(() => undefined);
  }

  /** Also the number of its group; null when it could not be started. */
  get pid(): number | null {
    return this.#child.pid ?? null;
  }

  kill(): Promise<void> {
    this.#killed ??= this.#kill();
    return this.#killed;
  }

  get #lifeLine(): Writable | undefined {
    return this.#child.stdio[3] as Writable | undefined;
  }

  get #verdict(): Readable | undefined {
    return this.#child.stdio[4] as Readable | undefined;
  }

  #planBeat(silenceMs: number): void {
    this.#cancelBeat = this.#platform.after(silenceMs / 3, () => {
      this.#lifeLine?.write(`${secondsOf(silenceMs)}\n`);
      this.#planBeat(silenceMs);
    });
  }

  /** Politely first: the guardian passes it on, and makes an end of it a second later. */
  async #kill(): Promise<void> {
    this.#lifeLine?.end();
    await within(this.#platform, KILL_AFTER_MS, this.ended);
    this.#signal('SIGKILL');
    if ((await within(this.#platform, KILL_AFTER_MS, this.ended)) === null)
      throw new Error(`The process group ${this.pid} could not be ended.`);
  }

  async #end(): Promise<ProgramEnd> {
    let verdict = '';
    this.#verdict?.setEncoding('utf8').on('data', (text: string) => (verdict += text));
    const closed = once(this.#child, 'close');
    closed.catch(() => undefined);
    try {
      await once(this.#child, 'exit');
    } catch (error) {
      return { exitCode: null, lost: `It could not be started: ${(error as Error).message}` };
    } finally {
      this.#cancelBeat();
      this.#lifeLine?.destroy();
    }
    await within(this.#platform, OUTPUT_CLOSES_MS, closed);
    // Nobody of the group is to be there any more; one that left it holds the pipes at most.
    this.#signal('SIGKILL');
    this.#child.stdout?.destroy();
    this.#child.stderr?.destroy();
    if (this.pid !== null && !(await groupGone(this.#platform, this.pid)))
      return { exitCode: null, lost: 'Processes of it could not be ended.' };
    return judged(verdict.trim());
  }

  #signal(name: 'SIGKILL'): void {
    try {
      if (this.pid !== null) process.kill(-this.pid, name);
    } catch (error) {
      // No such group any more is what was wanted.
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
    }
  }
}

function secondsOf(ms: number): string {
  return (ms / 1_000).toFixed(3);
}

function judged(verdict: string): ProgramEnd {
  if (!/^\d{1,3}$/.test(verdict)) return { exitCode: null, lost: 'It disappeared without an exit code.' };
  const code = Number(verdict);
  if (NOT_STARTED.includes(code)) return { exitCode: code, lost: 'It could not be started.' };
  if (code > SIGNALS_FROM) return { exitCode: null, lost: `Signal ${code - SIGNALS_FROM} ended it.` };
  return { exitCode: code, lost: null };
}
