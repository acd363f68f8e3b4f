/** Every queue that is measured, by the name it has in the tables. */

import { openBeanstalkd } from './peers/beanstalkd.ts';
import { openBullOnPostgres, openBullOnRedis } from './peers/bullmq.ts';
import { openFastify } from './peers/fastify.ts';
import { openGraphile } from './peers/graphile.ts';
import { openPgBoss } from './peers/pg-boss.ts';
import { openPlainjob } from './peers/plainjob.ts';
import { openRawPg } from './peers/raw-pg.ts';
import type { Place, Queue } from './queue.ts';
import { IN_BATCHES, ONE_BY_ONE, openSpineQueue } from './spine.ts';
import { openSpineBots, openSpineBridge } from './spine-bots.ts';
import { FUSED, FUSED_HUNDREDS, HUNDREDS, openSpineHttp, SINGLES } from './spine-http.ts';

export const QUEUES = {
  Spine: (place: Place) => openSpineQueue(place, ONE_BY_ONE),
  'Spine in batches': (place: Place) => openSpineQueue(place, IN_BATCHES),
  'Spine over HTTP': (place: Place) => openSpineHttp(place, SINGLES),
  'Spine over HTTP, fused': (place: Place) => openSpineHttp(place, FUSED),
  'Spine over HTTP, in hundreds': (place: Place) => openSpineHttp(place, HUNDREDS),
  'Spine over HTTP, in hundreds, fused': (place: Place) => openSpineHttp(place, FUSED_HUNDREDS),
  'Spine, bots': openSpineBots,
  'Spine, bridge': openSpineBridge,
  'bare Fastify': () => openFastify(SINGLES.connections),
  'plainjob FULL': (place: Place) => openPlainjob(place, 'FULL'),
  'plainjob NORMAL': (place: Place) => openPlainjob(place, 'NORMAL'),
  'pg-boss': openPgBoss,
  graphile: (place: Place) => openGraphile(place, true),
  'graphile unbatched': (place: Place) => openGraphile(place, false),
  'raw pg': openRawPg,
  'BullMQ on Redis': openBullOnRedis,
  'BullMQ on PostgreSQL': openBullOnPostgres,
  'beanstalkd, in memory': openBeanstalkd,
} satisfies Record<string, (place: Place) => Promise<Queue>>;

export type QueueName = keyof typeof QUEUES;
