/** Commands are started by a process of their own, which begins with the first of them and ends when there are none. */

import { fork } from 'node:child_process';
import { extname } from 'node:path';
import { PutOff } from '../client/errors.ts';
import type { Clock } from '../domain/ports.ts';
import { type Peer, Thread, ThreadDied } from '../runtime/thread.ts';
import { type Command, CommandLost, type Commands } from '../worker/ports.ts';
import type { ShellEnd } from '../worker/shell-process.ts';
import type { ShellMethods } from './shell-host.ts';

const ENTRY = new URL(`shell-host${extname(import.meta.url)}`, import.meta.url);
/** It takes 40 MB, so that it does not stay for nothing. */
const IDLE_MS = 60_000;
const PUT_OFF_MS = 1_000;

export class ShellCommands implements Commands {
  readonly #clock: Pick<Clock, 'after'>;
  readonly #host = new Thread<ShellMethods>(startHost);
  #lastId = 0;
  #open = 0;
  #cancelIdle = (): void => {};

  constructor(clock: Pick<Clock, 'after'>) {
    this.#clock = clock;
  }

  async start(command: string, env: Readonly<Record<string, string>>): Promise<Command> {
    const id = ++this.#lastId;
    this.#open += 1;
    this.#cancelIdle();
    let pid: number | null;
    try {
      pid = await this.#host.call('start', id, command, env);
    } catch (error) {
      this.#closed();
      // Nothing was begun.
      throw error instanceof ThreadDied ? new PutOff(PUT_OFF_MS, error.message) : error;
    }
    let end: Promise<ShellEnd> | null = null;
    return {
      pid,
      go: () => (end ??= this.#end(id)),
      kill: () => this.#host.call('kill', id).catch(() => undefined),
      closed: () => this.#closed(),
    };
  }

  async stop(): Promise<void> {
    this.#cancelIdle();
    await this.#host.end();
  }

  #end(id: number): Promise<ShellEnd> {
    const end = this.#host.call('go', id).catch((error: unknown) => {
      throw error instanceof ThreadDied ? new CommandLost(error.message, { cause: error }) : error;
    });
    // Whoever was told to stop meanwhile does not listen any more.
    end.catch(() => undefined);
    return end;
  }

  #closed(): void {
    this.#open -= 1;
    if (this.#open === 0) this.#cancelIdle = this.#clock.after(IDLE_MS, () => void this.#host.end());
  }
}

/** It has nothing of the server's environment, so that a command finds nothing in that of its parent. */
function startHost(): Peer {
  const child = fork(ENTRY, [], {
    env: {},
    execArgv: [],
    serialization: 'advanced',
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  // Calls fail when it has gone; that a message could not be sent any more says no more than that.
  child.on('error', () => undefined);
  return {
    postMessage: (message) => void child.send(message as object),
    on: (event, listener) => child.on(event, listener),
    terminate: async () => {
      if (child.connected) child.disconnect();
    },
  };
}
