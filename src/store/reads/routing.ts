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
  const rows = await sql.all(
    'select kind, name, at, actor, (select no from job_type where job_type.name = pause.name) from pause',
    [],
  );
  const sizes = await sql.all(
    `select no, coalesce(octet_length(sop), 0) + coalesce(octet_length(params_schema), 0) from job_type
     where sop is not null or params_schema is not null`,
    [],
  );
  const pauses = rows.map((row) => ({
    kind: row[0] as PauseKind,
    name: row[1] as string,
    at: row[2] as number,
    by: row[3] as string,
  }));
  return {
    revision: known,
    pausedTargets: new Set(pauses.filter((pause) => pause.kind === 'target').map((pause) => pause.name)),
    pausedTypes: new Set(
      rows.filter((row) => row[0] === 'type' && row[4] !== null).map((row) => row[4] as number),
    ),
    pausedDoors: new Set(pauses.filter((pause) => pause.kind === 'door').map((pause) => pause.name)),
    typeBytes: new Map(sizes.map((row) => [row[0] as number, row[1] as number])),
    pauses,
  };
}
