import { systemClock } from '../../src/runtime/clock.ts';
import type { OpenEngine } from '../../src/engine/open-engine.ts';
import { openPostgres } from '../../src/store/postgres.ts';
import { openSqlite } from '../../src/store/sqlite.ts';
import type { Store } from '../../src/store/store.ts';
import { engineOn } from '../support/engines.ts';

export interface ChildEngine {
  readonly engine: OpenEngine;
  readonly store: Store;
}

/** The engine of a process of its own, on the database that its parent named. */
export async function childEngine(place: string): Promise<ChildEngine> {
  const clock = { ...systemClock(), advance: () => Promise.reject(new Error('this is the system clock')) };
  const store = place.startsWith('postgres:')
    ? await openPostgres({ url: place, identity: 'child', lanes: 2, pool: 2, clock })
    : openSqlite({ file: place, identity: 'child' });
  return { engine: engineOn(store, clock), store };
}
