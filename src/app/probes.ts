/** How probes are asked: pages through the guard, commands by a process of their own, where commands are allowed. */

import type { AddressGuard } from '../channels/guard.ts';
import { askPage } from '../channels/page.ts';
import type { Clock } from '../domain/ports.ts';
import { answerOfCommand, isProbeUrl, type ProbeAnswer, unsure } from '../domain/probe.ts';
import type { AskProbe } from '../loops/prober.ts';
import { inheritedEnvironment } from '../runtime/environment.ts';
import { ShellCommands } from './shell-commands.ts';

export interface Probes {
  readonly ask: AskProbe;
  stop(): Promise<void>;
}

export function openProbes(guard: AddressGuard, shellAllowed: boolean, clock: Pick<Clock, 'after'>): Probes {
  const commands = new ShellCommands(clock);
  const command = async (text: string, timeoutMs: number, signal: AbortSignal): Promise<ProbeAnswer> => {
    if (!shellAllowed) return unsure('commands are switched off on this server');
    const shell = await commands.start(text, inheritedEnvironment());
    const over = new AbortController();
    try {
      const end = await Promise.race([shell.go(), ended(clock, timeoutMs, signal, over.signal)]);
      if (end !== null) return answerOfCommand(end);
      await shell.kill();
      return unsure(`it did not end within ${timeoutMs / 1_000} s`);
    } finally {
      over.abort();
      shell.closed();
    }
  };
  return {
    ask: (probe, timeoutMs, signal) =>
      isProbeUrl(probe) ? askPage(guard, probe, timeoutMs, signal) : command(probe, timeoutMs, signal),
    stop: () => commands.stop(),
  };
}

/** Resolves with null when the time is up, or when the server stops. */
function ended(
  clock: Pick<Clock, 'after'>,
  timeoutMs: number,
  signal: AbortSignal,
  over: AbortSignal,
): Promise<null> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve(null);
    const cancel = clock.after(timeoutMs, () => resolve(null));
    signal.addEventListener('abort', () => resolve(null), { once: true, signal: over });
    over.addEventListener('abort', () => cancel(), { once: true });
  });
}
