/** One of several servers: says that it is ready, drains when told to, and says which jobs it handled. */

import { once } from 'node:events';
import type { Place } from '../queue.ts';
import { drain, IN_BATCHES, openSpine, warmUp } from '../spine.ts';

const WARM_UP_JOBS = 1_000;
/** As many jobs as are done before the clock starts in the other drains. */
const WARM_UPS = 60;

const { engine, close } = await openSpine(JSON.parse(process.argv[2] ?? '') as Place);
for (let n = 0; n < WARM_UPS; n++) await warmUp(engine, WARM_UP_JOBS);
const told = once(process, 'message');
process.send?.('ready');
await told;
const handled: number[] = [];
await drain(engine, IN_BATCHES, (payload) => handled.push(payload.i));
process.send?.(handled);
await once(process, 'disconnect');
await close();
