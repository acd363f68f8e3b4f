/** Opens a database, says who it is, and goes. */
import { childEngine } from './child-engine.ts';

const { store } = await childEngine(process.argv[2] ?? '');
process.stdout.write(store.identity);
await store.close();
