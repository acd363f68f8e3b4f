import assert from 'node:assert/strict';
import { afterEach, beforeEach } from 'node:test';
import { telegram } from '../../src/channels/telegram.ts';
import { Deliverer } from '../../src/loops/deliverer.ts';
import { until } from '../support/clock.ts';
import { deliverAll, deliveries } from '../support/delivering.ts';
import {
  create,
  createMany,
  finished,
  HEAD,
  onEvery,
  type Opened,
  POSTGRES,
  SQLITE_FILE,
} from '../support/engines.ts';
import { type Bot, limited, telegram as telegramBot } from '../support/telegram.ts';

const TOKEN = '123456:secret-of-the-bot';
const CHAT = { channel: 'telegram', target: '-100', batchMs: 5_000 };
const OPTIONS = { chat: CHAT };

let now: () => number = () => 0;
let bot: Bot;
/** Where the Bot API is; nobody answers at the other place. */
let url = '';
const AWAY = 'http://127.0.0.1:9';

beforeEach(async () => {
  bot = await telegramBot(TOKEN, { now: () => now() });
  url = bot.url;
});
afterEach(() => bot[Symbol.asyncDispose]());

/** A deliverer that sends to the stand-in by the clock of this server. */
function sender(spine: Opened): Deliverer {
  now = () => spine.clock.now();
  return delivererTo(spine);
}

function delivererTo(spine: Opened): Deliverer {
  return new Deliverer(spine.engine.core, () => telegram({ url, token: TOKEN }));
}

async function done(spine: Opened, ...titles: string[]): Promise<void> {
  for (const title of titles) await finished(spine, await create(spine, { title, announce: true }));
}

/** Lets so much time pass, a second at a time, with a look after each. */
async function pass(spine: Opened, deliverer: Deliverer, seconds: number): Promise<void> {
  for (let second = 0; second < seconds; second++) {
    await deliverAll(deliverer);
    await spine.clock.advance(1_000);
  }
  await deliverAll(deliverer);
}

onEvery([SQLITE_FILE, POSTGRES], (each) => {
  each(
    'a task that is completed is told in one call, in five seconds, in the words of the text [TQ-29 TQ-30 T1]',
    async (spine) => {
      const deliverer = sender(spine);
      const job = await create(spine, { title: 'Reddit Crawl for NVDA', announce: true });
      await finished(spine, job, { posts_collected: 847 });
      await pass(spine, deliverer, 5);
      assert.deepEqual(
        bot.came.map(({ path, body }) => [path, body['chat_id'], body['text'], body['parse_mode']]),
        [
          [
            `/bot${TOKEN}/sendMessage`,
            '-100',
            String.raw`*Reddit Crawl for NVDA* completed by w. posts\_collected: 847`,
            'Markdown',
          ],
        ],
      );
    },
    OPTIONS,
  );

  each(
    'what ends within five seconds goes in one message, in order; what comes later in another [TQ-29 TQ-32 T2]',
    async (spine) => {
      const deliverer = sender(spine);
      await done(spine, 'one', 'two', 'three');
      await spine.clock.advance(1_000);
      await done(spine, 'four', 'five');
      await deliverAll(deliverer);
      assert.equal(bot.came.length, 0, 'it waits for others');
      await pass(spine, deliverer, 5);
      assert.deepEqual(
        bot.texts.map((text) => text.split('\n')),
        [['one', 'two', 'three', 'four', 'five'].map((title) => `${title} completed by w.`)],
      );
      assert.deepEqual(bot.taken[0]?.body['chat_id'], '-100');
      await spine.clock.advance(5_000);
      await done(spine, 'six');
      await pass(spine, deliverer, 6);
      assert.deepEqual(bot.texts.slice(1), ['six completed by w.']);
      assert.ok(
        (await deliveries(spine)).every(({ status, text }) => status === 'delivered' && text === null),
      );
    },
    OPTIONS,
  );

  each(
    'what ends while a message is on its way waits its own five seconds [TQ-29]',
    async (spine) => {
      now = () => spine.clock.now();
      const channel = telegram({ url, token: TOKEN });
      const { promise: gate, resolve: open } = Promise.withResolvers<void>();
      const send: typeof channel.send = async (message, signal) => {
        const proof = await channel.send(message, signal);
        await gate;
        return proof;
      };
      const deliverer = new Deliverer(spine.engine.core, () => ({ ...channel, send }));
      await done(spine, 'one');
      await spine.clock.advance(5_000);
      await deliverer.runOnce();
      await until('it was taken', () => bot.taken.length === 1);
      await done(spine, 'two');
      open();
      await deliverer.rest();
      await pass(spine, deliverer, 3);
      await done(spine, 'three');
      await pass(spine, deliverer, 1);
      assert.deepEqual(bot.texts, ['one completed by w.']);
      await pass(spine, deliverer, 2);
      assert.deepEqual(bot.texts.slice(1), ['two completed by w.\nthree completed by w.']);
    },
    OPTIONS,
  );

  each(
    '300 ends in one window all come, in order, in messages that Telegram takes at its pace [TQ-29 TQ-32 T3]',
    async (spine) => {
      const deliverer = sender(spine);
      const jobs = await createMany(spine, 300, { title: 'Crawl_*NVDA* [x](y) `z`', announce: true });
      for (const job of jobs) await finished(spine, job, { no: job.no, note: '_*`[ '.repeat(8) });
      await pass(spine, deliverer, 30);
      const lines = bot.texts.flatMap((text) => text.split('\n'));
      assert.deepEqual(
        lines.map((line) => Number(/no: (\d+)/.exec(line)?.[1])),
        jobs.map(({ no }) => no),
      );
      assert.ok(lines.every((line) => line.startsWith('Crawl_*NVDA* [x](y) `z` completed by w.')));
      for (const { body } of bot.came) assert.ok(String(body['text']).length <= 4_096);
      assert.equal(bot.came.length, bot.taken.length, 'nothing was refused: neither its marks nor its pace');
      assert.ok(bot.taken.length < 30);
    },
    OPTIONS,
  );

  each(
    'Telegram is left alone as long as it asks for, and then gets everything once, in order [TQ-29]',
    async (spine) => {
      const deliverer = sender(spine);
      await done(spine, 'one');
      bot.replies.push(limited(30));
      await pass(spine, deliverer, 6);
      await done(spine, 'two');
      await pass(spine, deliverer, 25);
      assert.equal(bot.came.length, 1, 'it is left alone');
      await pass(spine, deliverer, 6);
      assert.deepEqual(bot.texts, ['one completed by w.\ntwo completed by w.']);
    },
    OPTIONS,
  );

  each(
    'an hour without Telegram and a restart in between lose nothing and repeat nothing [TQ-29]',
    async (spine) => {
      let deliverer = sender(spine);
      url = AWAY;
      await done(spine, ...Array.from({ length: 40 }, (_, i) => `early ${i}`));
      for (let minute = 0; minute < 30; minute++) await pass(spine, deliverer, 1);
      await spine.clock.advance(30 * 60_000);
      const reopened = await spine.reopen?.(OPTIONS);
      assert.ok(reopened);
      await using again = reopened;
      await again.clock.advance(spine.clock.now() - again.clock.now());
      now = () => again.clock.now();
      deliverer = delivererTo(again);
      await pass(again, deliverer, 2);
      await done(again, ...Array.from({ length: 10 }, (_, i) => `late ${i}`));
      await again.clock.advance(30 * 60_000);
      await pass(again, deliverer, 2);
      assert.equal(bot.came.length, 0);
      url = bot.url;
      await again.clock.advance(3_600_000);
      await pass(again, deliverer, 10);
      const wanted = [
        ...Array.from({ length: 40 }, (_, i) => `early ${i}`),
        ...Array.from({ length: 10 }, (_, i) => `late ${i}`),
      ];
      assert.deepEqual(
        bot.texts.flatMap((text) => text.split('\n')),
        wanted.map((title) => `${title} completed by w.`),
      );
      assert.ok((await deliveries(again)).every(({ status }) => status === 'delivered'));
    },
    OPTIONS,
  );

  each(
    'a window that is half full goes out when the server stops, and what failed before does not [TQ-34 T8]',
    async (spine) => {
      const deliverer = sender(spine);
      await done(spine, 'one', 'two');
      await deliverer.flush();
      await deliverer.rest();
      assert.deepEqual(bot.texts, ['one completed by w.\ntwo completed by w.']);
      url = AWAY;
      await done(spine, 'three');
      await pass(spine, delivererTo(spine), 6);
      url = bot.url;
      const stopping = delivererTo(spine);
      await stopping.flush();
      await stopping.rest();
      assert.equal(bot.texts.length, 1, 'it has a moment of its own to be tried again');
    },
    OPTIONS,
  );

  each(
    '300 ends survive an hour without Telegram, a limit and a restart: all come once, in order, at its pace [TQ-29 TQ-32 T5]',
    async (spine) => {
      url = AWAY;
      const deliverer = sender(spine);
      const jobs = await createMany(spine, 300, { title: 'Crawl *NVDA*', announce: true });
      for (const job of jobs.slice(0, 150)) await finished(spine, job, { no: job.no });
      await pass(spine, deliverer, 10);
      const reopened = await spine.reopen?.(OPTIONS);
      assert.ok(reopened);
      await using again = reopened;
      await again.clock.advance(spine.clock.now() - again.clock.now());
      now = () => again.clock.now();
      for (const job of jobs.slice(150)) await finished(again, job, { no: job.no });
      for (let minute = 0; minute < 60; minute++) {
        await deliverAll(delivererTo(again));
        await again.clock.advance(60_000);
      }
      assert.equal(bot.came.length, 0);
      url = bot.url;
      bot.replies.push(limited(3));
      await again.clock.advance(60_000);
      await pass(again, delivererTo(again), 30);
      const told = bot.texts.flatMap((text) => text.split('\n'));
      assert.deepEqual(
        told.map((line) => Number(/no: (\d+)/.exec(line)?.[1])),
        jobs.map(({ no }) => no),
      );
      for (const { body } of bot.came) assert.ok(String(body['text']).length <= 4_096);
      assert.equal(bot.came.length, bot.taken.length + 1, 'its pace is kept: only the limit was refused');
    },
    OPTIONS,
  );

  each(
    'a message whose marks Telegram does not take goes once more as plain text, once [TQ-29 T4]',
    async (spine) => {
      const deliverer = sender(spine);
      await done(spine, 'reddit_crawl *NVDA* [x](y)');
      const body = { ok: false, description: "Bad Request: can't parse entities: unclosed at byte offset 3" };
      bot.replies.push({ status: 400, body });
      await pass(spine, deliverer, 6);
      assert.deepEqual(bot.texts, ['reddit_crawl *NVDA* [x](y) completed by w.']);
      assert.deepEqual(
        bot.came.map((one) => one.body['parse_mode']),
        ['Markdown', undefined],
      );
    },
    OPTIONS,
  );

  each('without a chat of the operator nothing is made to be sent [TQ-33]', async (spine) => {
    await done(spine, 'one');
    assert.deepEqual(await deliveries(spine), []);
  });

  each(
    'other texts keep their place in the line, and go without marks [TQ-29]',
    async (spine) => {
      const deliverer = sender(spine);
      await done(spine, 'one');
      await create(spine, { title: '*careful*', announce: true, approval: {} });
      await done(spine, 'two');
      await pass(spine, deliverer, 8);
      assert.equal(bot.taken.length, 3);
      assert.deepEqual(
        bot.taken.map(({ body }) => body['parse_mode']),
        ['Markdown', undefined, 'Markdown'],
      );
      assert.match(bot.texts[1] ?? '', /^⚠️ Job '\*careful\*' requires approval/);
    },
    OPTIONS,
  );

  each(
    'what Telegram refuses for good is kept as failed, a message at a time, and can be sent after all',
    async (spine) => {
      const deliverer = sender(spine);
      await done(spine, 'one', 'two');
      bot.replies.push({ status: 400, body: { ok: false, description: 'Bad Request: chat not found' } });
      await pass(spine, deliverer, 6);
      const lost = await deliveries(spine);
      assert.deepEqual(
        lost.map(({ status, error }) => [status, error]),
        Array.from({ length: 2 }, () => ['failed', 'Telegram answered 400: Bad Request: chat not found']),
      );
      for (const { id } of lost) await spine.engine.deliveries.retry(HEAD, id);
      await pass(spine, deliverer, 2);
      assert.deepEqual(bot.texts, ['one completed by w.\ntwo completed by w.']);
    },
    OPTIONS,
  );
});
