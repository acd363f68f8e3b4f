import { startServer } from '../support/server.ts';
import { peopled } from './bot-cases.ts';
import { botContract, WHOLE } from './bots.ts';

botContract({
  name: 'SQLite',
  cases: WHOLE,
  start: async (options, bots) => peopled(await startServer(options), bots),
});
