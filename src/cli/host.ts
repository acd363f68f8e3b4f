/** What the command line needs of the machine it runs on. Passed in, so that tests can watch every word of it. */

export interface Output {
  write(text: string | Uint8Array): boolean;
  once(event: 'drain', listener: () => void): unknown;
  readonly isTTY?: boolean;
  readonly columns?: number;
  readonly rows?: number;
}

export interface Input extends AsyncIterable<Uint8Array | string> {
  readonly isTTY?: boolean;
  setRawMode?(raw: boolean): unknown;
  on(event: 'data', listener: (chunk: Uint8Array | string) => void): unknown;
  off(event: 'data', listener: (chunk: Uint8Array | string) => void): unknown;
  resume(): unknown;
  pause(): unknown;
}

/** Options that every command takes. */
export interface GlobalFlags {
  readonly url?: string;
  readonly token?: string;
  readonly as?: TokenRole;
  readonly dataDir?: string;
  readonly json?: boolean;
  readonly quiet?: boolean;
  /** False with --no-color; commander turns `--no-x` into `x: false`. */
  readonly color?: boolean;
  readonly input?: boolean;
}

export type TokenRole = 'head' | 'left-claw' | 'right-claw';

/** What the environment says about the server. */
export interface ServerSettings {
  readonly url: string | null;
  readonly token: string | null;
  readonly host: string;
  readonly port: number;
  readonly dataDir: string;
  readonly tokens: Readonly<Record<TokenRole, readonly string[]>>;
}

export interface SettingRow {
  readonly name: string;
  readonly value: string | null;
  readonly origin: string;
}

export interface ServeFlags extends GlobalFlags {
  readonly host?: string;
  readonly port?: string;
}

export interface Host {
  readonly stdout: Output;
  readonly stderr: Output;
  readonly stdin: Input;
  /** Whether the terminal and the environment (NO_COLOR, FORCE_COLOR) want colours. */
  readonly colours: boolean;
  readonly version: string;
  readonly clock: { now(): number; after(delayMs: number, task: () => void): () => void };
  /** Both read the settings, and throw when one is wrong. */
  server(flags: GlobalFlags): ServerSettings;
  settings(flags: GlobalFlags): readonly SettingRow[];
  serve(flags: ServeFlags): Promise<void>;
  rebuild(flags: GlobalFlags, say: Say): Promise<void>;
  backup(file: string, flags: GlobalFlags, say: Say): Promise<void>;
  /** Reads all that is stored and compares it. */
  deepCheck(flags: GlobalFlags): Promise<readonly Finding[]>;
  /** Calls the task on Ctrl-C instead of ending; the returned function undoes that. */
  onInterrupt(task: () => void): () => void;
  exit(code: number): void;
}

/** What a check found, and what to do about it. */
export interface Finding {
  readonly check: string;
  readonly status: 'pass' | 'warn' | 'fail';
  readonly message: string;
  readonly hint?: string;
}

export interface Say {
  print(line: string): void;
  warn(line: string): void;
}
