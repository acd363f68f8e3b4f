import { SQLITE_MEMORY } from '../support/engines.ts';
import { storeConformance } from './store.ts';

storeConformance(SQLITE_MEMORY);
