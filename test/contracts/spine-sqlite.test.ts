import { startServer } from '../support/server.ts';
import { spineContract, WHOLE } from './spine.ts';

spineContract({ name: 'SQLite', cases: WHOLE, start: startServer });
