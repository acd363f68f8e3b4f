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
  /** Runs a worker until it is told to stop. */
  worker(order: WorkerOrder, flags: GlobalFlags): Promise<void>;
  /** The slot that the environment names. */
  slotId(flags: GlobalFlags): string | null;
  rebuild(flags: GlobalFlags, say: Say): Promise<void>;
  /** Makes the tokens of the database anew; answers the file that they are in. */
  renewTokens(flags: GlobalFlags): Promise<string>;
  backup(request: BackupRequest, flags: GlobalFlags): Promise<BackupAnswer>;
  /** Reads all that is stored and compares it. */
  deepCheck(flags: GlobalFlags): Promise<readonly Finding[]>;
  /** What a service must know of where it runs. */
  machine(): Machine;
  /** Runs a tool and answers its exit code; null when it is not there. */
  runTool(tool: string, args: readonly string[]): number | null;
  /** Calls the task on Ctrl-C instead of ending; the returned function undoes that. */
  onInterrupt(task: () => void): () => void;
  exit(code: number): void;
}

/** What a worker is to do, and where. */
export type RunnerName = 'command' | 'claude' | 'gateway' | 'http' | 'demo';

export interface WorkerOrder {
  readonly slot: string;
  /** Null where nobody said: then the settings decide. */
  readonly runner: RunnerName | null;
  readonly command: readonly string[] | null;
  readonly sessionsUrl: string | null;
  readonly roots: readonly string[];
  readonly env: readonly string[];
  readonly capabilities: readonly string[];
  readonly concurrency: number;
  readonly url: string;
  readonly token: string | undefined;
}

export interface Machine {
  readonly platform: string;
  readonly home: string;
  readonly node: string;
  /** The file that starts this command. */
  readonly entry: string;
  readonly isRoot: boolean;
  /** Whoever runs this command. */
  readonly user: string;
}

export type BackupRequest = {
  /** A folder or s3://bucket/prefix; what the settings say when null. */
  readonly to: string | null;
} & (
  | { readonly verb: 'snapshot' | 'rollup' | 'list' | 'status' }
  | { readonly verb: 'restore'; readonly force: boolean; readonly name: string | null }
);

export type BackupAnswer =
  | {
      readonly verb: 'snapshot' | 'rollup';
      readonly made: readonly MadeBackup[];
      readonly onPostgres: boolean;
      /** Buckets whose content no backup has; null where there is none. */
      readonly buckets: { readonly artifacts: string | null; readonly taskData: string | null };
    }
  | {
      readonly verb: 'restore';
      readonly restored: RestoredBackup;
      readonly dataDir: string;
      readonly onPostgres: boolean;
    }
  | { readonly verb: 'list'; readonly entries: readonly BackupEntry[] }
  | { readonly verb: 'status'; readonly status: BackupStatus }
  | { readonly problem: { readonly kind: BackupProblemKind; readonly message: string } };

export type BackupProblemKind =
  | 'usage'
  | 'settings'
  | 'refused'
  | 'not_found'
  | 'conflict'
  | 'busy'
  | 'unavailable'
  | 'timeout'
  | 'failure';

/** What a backup says of itself. */
export interface BackupManifest {
  readonly kind: string;
  readonly name: string;
  readonly identity: string;
  readonly version: string;
  readonly at: number;
  readonly jobs: number;
  readonly database: { readonly size: number; readonly sha256: string } | null;
  readonly journal: readonly { readonly size: number }[];
  /** Null where they are in the database. */
  readonly artifacts: { readonly count: number; readonly bytes: number } | null;
  /** Null where that lies in a bucket. */
  readonly objects: { readonly count: number; readonly bytes: number } | null;
  readonly lost: { readonly count: number; readonly ids: readonly string[] };
}

export interface MadeBackup {
  readonly place: string;
  readonly manifest: BackupManifest;
  readonly uploadedBytes: number;
  readonly changed: number;
  readonly removed: number;
}

export interface RestoredBackup {
  readonly place: string;
  readonly manifest: BackupManifest;
  readonly skipped: readonly string[];
  readonly asides: readonly string[];
  readonly artifacts: number;
  readonly objects: number;
  readonly lost: readonly string[];
  readonly journal: boolean;
}

export interface BackupEntry {
  readonly kind: string;
  readonly name: string;
  readonly place: string;
  readonly at: number;
  readonly bytes: number;
}

export interface BackupStatus {
  readonly enabled: boolean;
  readonly everyMs: number;
  readonly lastTryAt: number | null;
  readonly lastSnapshotAt: number | null;
  readonly lastRollupAt: number | null;
  readonly lastError: string | null;
  readonly places: readonly {
    readonly place: string;
    readonly snapshots: number;
    readonly rollups: number;
    readonly bytes: number;
    readonly newest: BackupManifest | null;
    readonly error: string | null;
  }[];
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
