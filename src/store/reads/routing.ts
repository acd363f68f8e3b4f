/** What is paused. */

import type { PauseKind, Routing } from '../../domain/routing.ts';
import type { Sql } from '../sql/driver.ts';
import { only } from '../sql/rows.ts';

/** Rises with every change of what is paused, and with every change of a type. */
export function revision(sql: Sql): Promise<number> {
  return only<number>(sql, "select value from revision where name = 'routing'", []);
}

export async function current(sql: Sql): Promise<Routing> {
  // The revision is read first: if a pause slips in between, the next claim sees an old revision and reads again.
  const known = await revision(sql);
  const paused = await sql.all(
    'select kind, name, at, actor, until_at, (select no from job_type where job_type.name = pause.name) from pause',
    [],
  );
  const types = await sql.all(
    `select no, coalesce(octet_length(sop), 0) + coalesce(octet_length(params_schema), 0), provider from job_type
     where sop is not null or params_schema is not null or provider is not null`,
    [],
  );
  const pauses = paused.map((row) => ({
    kind: row[0] as PauseKind,
    name: row[1] as string,
    at: row[2] as number,
    by: row[3] as string,
    untilAt: row[4] as number | null,
  }));
  const named = (kind: PauseKind): Set<string> =>
    new Set(pauses.filter((pause) => pause.kind === kind).map(({ name }) => name));
  const pausedProviders = named('provider');
  return {
    revision: known,
    pausedTargets: named('target'),
    pausedTypes: new Set([
      ...paused.filter((row) => row[0] === 'type' && row[5] !== null).map((row) => row[5] as number),
      ...types.filter((row) => pausedProviders.has(row[2] as string)).map((row) => row[0] as number),
    ]),
    pausedDoors: named('door'),
    typeBytes: new Map(
      types.filter((row) => row[1] !== 0).map((row) => [row[0] as number, row[1] as number]),
    ),
    providers: new Map(
      types.filter((row) => row[2] !== null).map((row) => [row[0] as number, row[2] as string]),
    ),
    pauses,
  };
}
