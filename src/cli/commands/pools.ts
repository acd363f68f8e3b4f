import type { Pool } from '../../client/index.ts';
import type { Handler } from '../command.ts';
import type { Session } from '../session.ts';
import type { Line } from '../text/line.ts';
import { table } from '../text/table.ts';
import { confirm } from './confirm.ts';
import { given } from './values.ts';

export const listPools: Handler = async (session) => {
  const pools = await (await session.client()).pools.list();
  session.out.result({
    value: { pools },
    lines: () => poolTable(session, pools),
    ids: () => pools.map(({ name }) => name),
  });
};

function poolTable(session: Session, pools: readonly Pool[]): Line[] {
  if (pools.length === 0) {
    session.none('No pools. Create one with: npx spine pools set gpu --capacity 4');
    return [];
  }
  const columns = [{ head: 'pool' }, { head: 'at once', right: true }, { head: 'per key', right: true }];
  const rows = pools.map(({ name, capacity, perKey }) => [name, String(capacity), String(perKey)]);
  return table(columns, rows, session.out.columns);
}

interface SetOptions {
  readonly capacity: number;
  readonly perKey?: number;
}

export const setPool: Handler<SetOptions> = async (session, { args: [name = ''], options }) => {
  const { capacity, perKey } = options;
  const pool = await (await session.client()).pools.save(name, { capacity, ...given({ perKey }) });
  session.out.result({
    value: pool,
    lines: () => [`Pool ${pool.name}: ${pool.capacity} at once, ${pool.perKey} per key.`],
    ids: () => [pool.name],
  });
};

export const removePool: Handler<{ readonly yes?: boolean }> = async (
  session,
  { args: [name = ''], options },
) => {
  await confirm(session, `Remove the pool ${name}?`, options.yes);
  await (await session.client()).pools.remove(name);
  session.out.result({ value: { name, removed: true }, lines: () => [`Pool ${name} is removed.`] });
};
