/**
 * A small process that starts commands. A fork copies the tables of all memory that its process has: from a server with
 * 150 MB a start took 6 ms of the processor, from here it takes one, and the server answers calls meanwhile.
 */

import { systemPlatform } from '../client/platform.ts';
import { answer } from '../runtime/thread.ts';
import { type ShellEnd, ShellProcess } from '../worker/shell-process.ts';

export interface ShellMethods {
  /** Answers the number of its process, null when it could not be started. It waits for `go`. */
  readonly start: (
    id: number,
    command: string,
    env: Readonly<Record<string, string>>,
  ) => Promise<number | null>;
  /** Answers when the command has ended. */
  readonly go: (id: number) => Promise<ShellEnd>;
  readonly kill: (id: number) => Promise<void>;
}

// The launcher may load this file elsewhere, to have it compiled.
if (process.send !== undefined) serve();

function serve(): void {
  const started = new Map<number, ShellProcess>();
  const methods: ShellMethods = {
    start: async (id, command, env) => {
      const shell = new ShellProcess(systemPlatform, command, env);
      started.set(id, shell);
      return shell.pid;
    },
    go: async (id) => {
      const shell = started.get(id);
      if (shell === undefined) throw new Error('this command was never started');
      try {
        return await shell.go();
      } finally {
        started.delete(id);
      }
    },
    kill: async (id) => {
      await started.get(id)?.kill();
      started.delete(id);
    },
  };
  // A terminal and a service manager signal everybody at once; the server says when it is over.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined);
  process.on('disconnect', () => process.exit());
  answer(
    {
      on: (_event, listener) => process.on('message', listener),
      postMessage: (message) => void process.send?.(message),
    },
    methods,
  );
}
