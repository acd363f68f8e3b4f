import { freshDatabase, startPostgres } from '../test/support/postgres.ts';
import type { ServerOptions } from '../test/support/server.ts';

export type StoreKind = 'sqlite' | 'postgres';

/** An empty store that servers can be started on. */
export interface ProofStore extends AsyncDisposable {
  readonly kind: StoreKind;
  /** Added to the options of every server on this store. */
  readonly server: Pick<ServerOptions, 'databaseUrl'>;
  /** Kills the database itself, which then recovers; null where it is no process, or not ours to kill. */
  readonly crash: (() => Promise<void>) | null;
}

/** A PostgreSQL that the stores of one run share, started only when the first one needs it. */
export interface PostgresSource extends AsyncDisposable {
  url(): Promise<string>;
  readonly crash: (() => Promise<void>) | null;
}

/** Durable, because a proof about lost writes on a database that may lose them says nothing. */
export function durablePostgres(): PostgresSource {
  let started: ReturnType<typeof startPostgres> | undefined;
  return {
    url: async () => (await (started ??= startPostgres({ durable: true }))).url,
    crash: async () => (await started)?.crash(),
    [Symbol.asyncDispose]: async () => (await started)?.stop(),
  };
}

/** A PostgreSQL that is there already. */
export function runningPostgres(adminUrl: string): PostgresSource {
  return {
    url: () => Promise.resolve(adminUrl),
    crash: null,
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}

export async function openStore(kind: StoreKind, postgres: PostgresSource): Promise<ProofStore> {
  if (kind === 'sqlite')
    return { kind, server: {}, crash: null, [Symbol.asyncDispose]: () => Promise.resolve() };
  const database = await freshDatabase(await postgres.url());
  return {
    kind,
    server: { databaseUrl: database.url },
    crash: postgres.crash,
    [Symbol.asyncDispose]: () => database.drop(),
  };
}
