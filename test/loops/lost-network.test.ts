import assert from 'node:assert/strict';
import { telegram } from '../../src/channels/telegram.ts';
import type { Actor } from '../../src/domain/command.ts';
import { Deliverer } from '../../src/loops/deliverer.ts';
import { StuckDetector } from '../../src/loops/stuck-detector.ts';
import { deliverAll } from '../support/delivering.ts';
import {
  create,
  DIALECTS,
  HEAD,
  onEvery,
  type Opened,
  settleAll,
  stateOf,
  worker,
} from '../support/engines.ts';
import { startAt } from '../support/scheduling.ts';
import { telegram as telegramBot } from '../support/telegram.ts';

const TOKEN = '123456:secret-of-the-bot';
const OPTIONS = { chat: { channel: 'telegram', target: '-100', batchMs: 5_000 } };
const MINUTE_MS = 60_000;
const TITLE = 'Reddit Crawl for NVDA';

async function join({ engine }: Opened, fullName: string): Promise<Actor> {
  const email = `${fullName.toLowerCase()}@example.org`;
  const { name } = await engine.users.add(HEAD, { email, password: 'x'.repeat(8), fullName, worker: true });
  return worker(name);
}

onEvery(DIALECTS, (each) => {
  each(
    'a crawl whose worker loses its network is done by another one, minute by minute, and the chat is told [TQ-22 TQ-23 TQ-24 TQ-30 TQ-31 TQ-32]',
    async (spine) => {
      const { engine, clock } = spine;
      await using bot = await telegramBot(TOKEN, { now: () => engine.now() });
      const deliverer = new Deliverer(engine.core, () => telegram({ url: bot.url, token: TOKEN }));
      const detector = new StuckDetector({ core: engine.core, everyMs: MINUTE_MS, absenceMs: () => 0 });
      await startAt(spine, '2026-02-10T09:58:00Z');
      let minute = -2;
      /** The loops look once in a minute; then the window of the chat passes. */
      const until = async (wanted: number): Promise<void> => {
        for (; minute < wanted; minute++) {
          await detector.runOnce();
          await settleAll(spine);
          await clock.advance(6_000);
          await deliverAll(deliverer);
          await clock.advance(MINUTE_MS - 6_000);
        }
      };
      await until(0);
      await engine.types.save(HEAD, { name: 'reddit_crawl', label: 'Reddit Crawl', maxRetries: 3 });
      const [genesis, nexus] = [await join(spine, 'Genesis'), await join(spine, 'Nexus')];

      // 10:00 Somebody creates it, for nobody in particular.
      const crawl = await create(spine, {
        title: TITLE,
        type: 'reddit_crawl',
        params: { ticker: 'NVDA' },
        retry: { mode: 'lineage' },
        announce: true,
      });
      assert.equal(await stateOf(spine, crawl), 'queued');

      await until(1);
      engine.users.heard(genesis);
      const first = await engine.bots.claim(genesis);
      assert.deepEqual([first?.job.id, first?.job.claimedBy], [crawl.id, genesis.name]);

      await until(5);
      engine.users.heard(genesis);
      await engine.jobs.comment(HEAD, crawl.id, 'Collected 300 posts from r/wsb...');

      // 10:07 Its last heartbeat; a minute later its network is gone.
      await until(7);
      engine.users.heard(genesis);
      await until(18);
      assert.equal(await stateOf(spine, crawl), 'running');
      assert.deepEqual(bot.texts, []);

      // 10:18 It is offline for more than ten minutes, and the task is older than fifteen.
      await until(19);
      assert.equal(await stateOf(spine, crawl), 'failed');
      assert.deepEqual(bot.texts, [
        `${TITLE} stuck — Genesis offline. Returning to queue.\nRetry 1/3: ${TITLE} back in queue.`,
      ]);

      engine.users.heard(nexus);
      const second = await engine.bots.claim(nexus);
      assert.ok(second);
      assert.deepEqual([second.job.retryOf, second.job.retryCount], [crawl.no, 1]);
      assert.equal(second.input?.title, `${TITLE} (retry 1)`);
      assert.match(second.input.description ?? '', /PREVIOUS ATTEMPT FAILED: Worker went offline/);
      assert.deepEqual(JSON.parse(second.input.params ?? ''), { ticker: 'NVDA' });

      await until(25);
      engine.users.heard(nexus);
      await engine.leases.complete(nexus, second.job.id, null, { summary: '847 posts.' });
      await until(26);
      assert.deepEqual(bot.texts.slice(1), [`${TITLE} (retry 1) completed by Nexus. 847 posts.`]);
      assert.equal(await engine.bots.claim(nexus), null);
    },
    OPTIONS,
  );
});
