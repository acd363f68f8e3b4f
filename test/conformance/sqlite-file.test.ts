import { SQLITE_FILE } from '../support/engines.ts';
import { survivesKill } from './kill.ts';
import { storeConformance } from './store.ts';

storeConformance(SQLITE_FILE);
survivesKill(SQLITE_FILE);
