import { PassThrough } from 'node:stream';
import type { Host } from '../../src/cli/host.ts';
import { run } from '../../src/cli/run.ts';
import { describe, loadConfig } from '../../src/config.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import type { TestServer } from '../support/server.ts';

export interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly stdin?: string;
  /** A terminal of this size, in colour; without it everything is piped. */
  readonly terminal?: { readonly columns: number; readonly rows: number };
  /** Presses Ctrl-C then. */
  readonly interruptWhen?: Promise<unknown>;
  /** Where a service would run. */
  readonly machine?: Partial<ReturnType<Host['machine']>>;
  readonly runTool?: Host['runTool'];
  readonly backup?: Host['backup'];
  /** The commands; those of `spine` unless said. */
  readonly build?: Parameters<typeof run>[2];
  /** Called with everything printed so far, after every write. */
  readonly watch?: (printed: string, terminal: Terminal) => void;
}

/** What the person at the terminal can do. */
export interface Terminal {
  press(keys: string): void;
  interrupt(): void;
}

/** Runs a command line in this process, with a machine of its own. */
export async function spine(args: readonly string[], options: RunOptions = {}): Promise<Ran> {
  const printed = { stdout: '', stderr: '' };
  const stdin = Object.assign(new PassThrough(), {
    isTTY: options.terminal !== undefined,
    setRawMode: () => {},
  });
  if (options.stdin !== undefined) stdin.end(options.stdin);
  const interrupts = new Set<() => void>();
  const terminal: Terminal = {
    press: (keys) => void stdin.write(keys),
    interrupt: () => interrupts.forEach((task) => task()),
  };
  const output = (name: 'stdout' | 'stderr') => ({
    isTTY: options.terminal !== undefined,
    ...options.terminal,
    once: () => undefined,
    write: (text: string | Uint8Array) => {
      printed[name] += Buffer.from(text as string).toString('utf8');
      options.watch?.(printed.stdout + printed.stderr, terminal);
      return true;
    },
  });
  const config = (flags: { dataDir?: string }) =>
    loadConfig(options.env ?? {}, flags.dataDir === undefined ? {} : { dataDir: flags.dataDir });
  const nothing = () => Promise.reject(new Error('this test starts nothing'));
  const host: Host = {
    stdout: output('stdout'),
    stderr: output('stderr'),
    stdin,
    colours: options.terminal !== undefined,
    version: '0.1.0',
    clock: systemClock(),
    server: (flags) => {
      const { url, token, host, port, dataDir, tokens } = config(flags);
      return {
        url,
        token,
        host,
        port,
        dataDir,
        tokens: { head: tokens.head, 'left-claw': tokens.left_claw, 'right-claw': tokens.right_claw },
      };
    },
    settings: (flags) => describe(config(flags)),
    serve: nothing,
    worker: nothing,
    slotId: (flags) => config(flags).slotId,
    rebuild: nothing,
    renewTokens: async () => '',
    backup: options.backup ?? nothing,
    deepCheck: nothing,
    machine: () => ({
      platform: 'linux',
      home: '/home/ann',
      node: '/usr/bin/node',
      entry: '/opt/spine/bin/spine.cjs',
      isRoot: false,
      user: 'ann',
      ...options.machine,
    }),
    runTool: options.runTool ?? (() => null),
    onInterrupt: (task) => {
      interrupts.add(task);
      return () => void interrupts.delete(task);
    },
    exit: () => {
      throw new Error('the command did not end by itself after Ctrl-C');
    },
  };
  const ran = run(host, args, options.build);
  if (options.interruptWhen !== undefined) {
    await options.interruptWhen;
    terminal.interrupt();
  }
  const code = await ran;
  return { code, ...printed };
}

/** As on the server's machine, with its tokens in the environment. */
export function envOf(server: TestServer): Record<string, string> {
  return {
    SPINE_DATA_DIR: server.dataDir,
    HEAD_TOKEN: server.tokens.head,
    LEFT_CLAW_TOKEN: server.tokens.left,
    RIGHT_CLAW_TOKEN: server.tokens.right,
  };
}

/** Whether anything but line ends could move a cursor or turn text around. */
export function steersTerminal(text: string): boolean {
  return /\p{Cc}|\u202e/u.test(text.replaceAll('\n', ''));
}

/** Splits a line as a shell would, quotes and all. */
export function words(line: string): string[] {
  return [...line.matchAll(/'([^']*)'|"([^"]*)"|(\S+)/g)].map(
    ([, single, double, bare]) => single ?? double ?? bare ?? '',
  );
}
