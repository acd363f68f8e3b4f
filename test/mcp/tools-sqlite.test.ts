import { holdsTools } from './tools.ts';

holdsTools({ name: 'SQLite', skip: false, databaseUrl: () => Promise.resolve(undefined) });
