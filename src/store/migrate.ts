/** Brings a database to this program's schema, one step at a time, each in its own transaction. */

import { createHash } from 'node:crypto';
import type { ClientBase } from 'pg';
import { MIGRATIONS } from './migrations/index.ts';
import type { Migration } from './migrations/migration.ts';
import type { SqliteConnection } from './sqlite-connection.ts';

/** The database was made by another program, or by another version of this one. */
export class SchemaError extends Error {
  readonly exitCode = 78;
}

interface Applied {
  readonly version: number;
  readonly name: string;
  readonly breaking: boolean;
  readonly checksum: string;
}

type Dialect = 'sqlite' | 'postgres';

const TABLE = `create table if not exists migration (
  version integer primary key, name text not null, breaking integer not null, checksum text not null
)`;

export function migrateSqlite(
  connection: SqliteConnection,
  migrations: readonly Migration[] = MIGRATIONS,
): void {
  const { database } = connection;
  database.exec(TABLE);
  for (;;) {
    database.exec('begin immediate');
    try {
      const rows = connection.all(
        'select version, name, breaking, checksum from migration order by version',
        [],
      );
      const next = nextStep(rows.map(appliedFrom), migrations, 'sqlite');
      if (next !== null) {
        // The version row goes first: a step that was half done by hand fails here and not in the middle.
        connection.run(
          'insert into migration (version, name, breaking, checksum) values ($1, $2, $3, $4)',
          versionRow(next, 'sqlite'),
        );
        database.exec(next.sqlite);
      }
      database.exec('commit');
      if (next === null) return;
    } catch (error) {
      if (database.isTransaction) database.exec('rollback');
      throw error;
    }
  }
}

export async function migratePostgres(
  client: ClientBase,
  migrations: readonly Migration[] = MIGRATIONS,
): Promise<void> {
  for (;;) {
    await client.query('begin');
    try {
      // Servers that start together go one after another.
      await client.query("select pg_advisory_xact_lock(hashtext('spine.migrate'))");
      await client.query(TABLE);
      const { rows } = await client.query({
        text: 'select version, name, breaking, checksum from migration order by version',
        rowMode: 'array',
      });
      const next = nextStep(rows.map(appliedFrom), migrations, 'postgres');
      if (next !== null) {
        await client.query(
          'insert into migration (version, name, breaking, checksum) values ($1, $2, $3, $4)',
          versionRow(next, 'postgres'),
        );
        await client.query(next.postgres);
      }
      await client.query('commit');
      if (next === null) return;
    } catch (error) {
      await client.query('rollback').catch(() => undefined);
      throw error;
    }
  }
}

/** The first step that is missing; throws when the database cannot be worked on. */
export function nextStep(
  applied: readonly Applied[],
  migrations: readonly Migration[],
  dialect: Dialect,
): Migration | null {
  for (const row of applied) {
    const known = migrations.find((migration) => migration.version === row.version);
    if (known === undefined && row.breaking) {
      throw new SchemaError(
        `The database has schema step ${row.version} (${row.name}), which this version of Spine does not know. Install the newer Spine that made it.`,
      );
    }
    if (known !== undefined && checksum(known, dialect) !== row.checksum) {
      throw new SchemaError(
        `Schema step ${row.version} (${row.name}) in the database is not the one this version of Spine ships. Use the version that made the database, or restore a backup.`,
      );
    }
  }
  const done = new Set(applied.map((row) => row.version));
  return migrations.find((migration) => !done.has(migration.version)) ?? null;
}

/** Why a server of this version would not open a SQLite database with these rows of `migration`; null when it would. */
export function schemaProblem(rows: readonly unknown[][]): string | null {
  try {
    nextStep(rows.map(appliedFrom), MIGRATIONS, 'sqlite');
    return null;
  } catch (error) {
    return (error as Error).message;
  }
}

function appliedFrom(row: unknown[]): Applied {
  return {
    version: Number(row[0]),
    name: String(row[1]),
    breaking: Number(row[2]) === 1,
    checksum: String(row[3]),
  };
}

function versionRow(migration: Migration, dialect: Dialect): [number, string, number, string] {
  return [migration.version, migration.name, migration.breaking ? 1 : 0, checksum(migration, dialect)];
}

function checksum(migration: Migration, dialect: Dialect): string {
  return createHash('sha256').update(migration[dialect]).digest('hex');
}
