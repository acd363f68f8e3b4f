/** No queue at all: one prepared insert for each job, in flight over a pool. What a queue without group commit can reach at most. */

import { Pool } from 'pg';
import { type Place, type Queue, urlOf } from '../queue.ts';

const TABLE = `
create table job (
  no bigint generated always as identity primary key, queue text not null, state smallint not null default 0,
  priority int not null default 0, run_at timestamptz not null default now(), data jsonb not null
);
create index job_ready on job (queue, priority, run_at, no) where state = 0;`;

export async function openRawPg(place: Place): Promise<Queue> {
  const pool = new Pool({ connectionString: urlOf(place), max: 16 });
  await pool.query(TABLE);
  const insert = {
    name: 'insert',
    text: "insert into job (queue, data) select 'job', data from unnest($1::jsonb[]) as data",
  };
  return {
    add: (input) =>
      pool.query({
        name: 'add',
        text: "insert into job (queue, data) values ('job', $1) returning no",
        values: [JSON.stringify(input)],
      }),
    addMany: (inputs) => pool.query({ ...insert, values: [inputs.map((input) => JSON.stringify(input))] }),
    work: () => Promise.reject(new Error('raw pg is a floor for enqueueing only')),
    left: async () => {
      const { rows } = await pool.query<{ n: number }>('select count(*)::int as n from job');
      return rows[0]?.n ?? Number.NaN;
    },
    close: () => pool.end(),
  };
}
