import { startServer } from '../support/server.ts';
import { peopled } from './bot-cases.ts';
import { botContract } from './bots.ts';

botContract({
  name: 'SQLite',
  start: async (options, bots) => peopled(await startServer(options), bots),
});
