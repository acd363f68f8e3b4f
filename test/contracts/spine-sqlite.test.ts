import { startServer } from '../support/server.ts';
import { spineContract } from './spine.ts';

spineContract({ name: 'SQLite', start: startServer });
