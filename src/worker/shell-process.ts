/** One command in a process group of its own, which is ended as a whole. */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Platform } from '../client/platform.ts';
import { within } from './time-limit.ts';
import { KeptOutput } from './kept-output.ts';
import type { Command } from './ports.ts';

/** Waits for a word before it becomes the command. When the server dies before it gave it, nothing is done. */
const WAITING_SHELL = 'read -r go <&3 || exit 125; exec /bin/sh -c "$1" 3<&-';

const OUTPUT_BYTES = 65_536;
const KILL_AFTER_MS = 1_000;
/** What a command left running in the background may hold its output open; nobody waits longer for that. */
const OUTPUT_CLOSES_MS = 500;

export interface ShellEnd {
  readonly exitCode: number | null;
  readonly signal: string | null;
  readonly stdout: string;
  readonly stderr: string;
}

export class ShellProcess implements Command {
  readonly #platform: Platform;
  readonly #child: ChildProcess;
  readonly #stdout = new KeptOutput(OUTPUT_BYTES);
  readonly #stderr = new KeptOutput(OUTPUT_BYTES);
  readonly #ended: Promise<ShellEnd>;
  #killed: Promise<void> | null = null;

  constructor(platform: Platform, command: string, env: Readonly<Record<string, string>>) {
    this.#platform = platform;
    this.#child = spawn('/bin/sh', ['-c', WAITING_SHELL, 'sh', command], {
      env,
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
    });
    this.#child.stdout?.on('data', (chunk: Buffer) => this.#stdout.add(chunk));
    this.#child.stderr?.on('data', (chunk: Buffer) => this.#stderr.add(chunk));
    // A command that ended before it heard the word has closed the pipe.
    this.#word?.on('error', () => undefined);
    this.#ended = this.#end();
    // Whoever waits hears of a failed start; it must not count as unheard before.
    this.#ended.catch(() => undefined);
  }

  /** Also the number of its group; null when it could not be started. */
  get pid(): number | null {
    return this.#child.pid ?? null;
  }

  /** The command begins. */
  go(): Promise<ShellEnd> {
    this.#word?.end('go\n');
    return this.#ended;
  }

  /** Its pipes close with its end. */
  closed(): void {}

  /** Ends the whole group, politely first. */
  kill(): Promise<void> {
    this.#killed ??= this.#kill();
    return this.#killed;
  }

  async #kill(): Promise<void> {
    this.#signal('SIGTERM');
    await within(this.#platform, KILL_AFTER_MS, this.#ended);
    // Its leader may be gone while others of the group go on.
    this.#signal('SIGKILL');
    await within(this.#platform, KILL_AFTER_MS, this.#ended);
  }

  get #word(): NodeJS.WritableStream | undefined {
    return this.#child.stdio[3] as NodeJS.WritableStream | undefined;
  }

  async #end(): Promise<ShellEnd> {
    const closed = once(this.#child, 'close');
    closed.catch(() => undefined);
    const [exitCode, signal] = (await once(this.#child, 'exit')) as [number | null, string | null];
    await within(this.#platform, OUTPUT_CLOSES_MS, closed);
    this.#child.stdout?.destroy();
    this.#child.stderr?.destroy();
    return { exitCode, signal, stdout: this.#stdout.toString(), stderr: this.#stderr.toString() };
  }

  #signal(name: 'SIGTERM' | 'SIGKILL'): void {
    try {
      if (this.pid !== null) process.kill(-this.pid, name);
    } catch (error) {
      // No such group any more is what was wanted.
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
    }
  }
}
