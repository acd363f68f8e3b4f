import assert from 'node:assert/strict';
import { afterEach, beforeEach } from 'node:test';
import { telegram } from '../../src/channels/telegram.ts';
import { telegramUpdates } from '../../src/channels/telegram-updates.ts';
import { watchBudgets } from '../../src/engine/spending.ts';
import { ChatReader } from '../../src/loops/chat-reader.ts';
import { Deliverer } from '../../src/loops/deliverer.ts';
import { deliverAll } from '../support/delivering.ts';
import {
  claimed,
  claimNext,
  create,
  failed,
  finished,
  HEAD,
  onEvery,
  type Opened,
  POSTGRES,
  read,
  SQLITE_FILE,
  stateOf,
  worker,
} from '../support/engines.ts';
import { type Bot, limited, telegram as telegramBot } from '../support/telegram.ts';

const TOKEN = '123456:secret-of-the-bot';
const CHAT = { channel: 'telegram', target: '-100', batchMs: 0 };
const OPTIONS = { chat: CHAT };
const SCHEMA = {
  type: 'object',
  required: ['ticker'],
  properties: {
    ticker: { type: 'string', maxLength: 5 },
    days: { type: 'integer' },
    subreddits: { type: 'array', items: { type: 'string' } },
  },
};

let bot: Bot;
let troubles: string[] = [];
beforeEach(async () => {
  bot = await telegramBot(TOKEN);
  troubles = [];
});
afterEach(() => bot[Symbol.asyncDispose]());

function readerOf(spine: Opened, allowed = ['-100']): ChatReader {
  const source = telegramUpdates({ url: bot.url, token: TOKEN });
  const onTrouble = (problem: string): number => troubles.push(problem);
  return new ChatReader(spine.engine.core, { source, allowed, waitS: 0, onTrouble });
}

function delivererOf(spine: Opened): Deliverer {
  return new Deliverer(spine.engine.core, () => telegram({ url: bot.url, token: TOKEN, buttons: true }));
}

/** Has everything done that people wrote and pressed; answers what was said to it. */
async function heard(spine: Opened, reader = readerOf(spine)): Promise<string[]> {
  const before = bot.texts.length;
  for (let pass = 0; pass < 20 && bot.unconfirmed() > 0; pass++) await reader.runOnce();
  await sendAll(spine);
  return bot.texts.slice(before);
}

/** A message a second: faster Telegram does not take them. */
async function sendAll(spine: Opened): Promise<void> {
  const deliverer = delivererOf(spine);
  for (let second = 0; second < 60; second++) {
    await deliverAll(deliverer);
    if ((await spine.store.read.deliveries.nextAt()) === null) return;
    await spine.clock.advance(1_000);
  }
}

async function saveType(spine: Opened, name = 'reddit_crawl'): Promise<void> {
  await spine.engine.types.save(HEAD, { name, label: 'Reddit Crawl', paramsSchema: SCHEMA });
}

async function actorsIn(spine: Opened): Promise<string[]> {
  return (await spine.engine.audit.list(null, 50)).map(({ by, action }) => `${by} ${action}`);
}

onEvery([SQLITE_FILE, POSTGRES], (each) => {
  each(
    'while nobody can say what the bot is called, a command to one by its name waits [TQ-46]',
    async (spine) => {
      const reader = readerOf(spine);
      bot.say('/status@OtherBot');
      bot.say('/status@SpineBot');
      const message = { message_id: 1, from: { id: 7 }, chat: { id: -100 }, text: '/status@OtherBot' };
      bot.replies.push({ status: 200, body: { ok: true, result: [{ update_id: 501, message }] } });
      bot.replies.push({ status: 502, body: {} });
      await reader.runOnce();
      assert.equal(troubles.length, 1);
      assert.equal((await heard(spine, reader)).length, 1);
    },
    OPTIONS,
  );

  each(
    'a group that became a supergroup goes on under its new number, for what is sent and for commands [TQ-29 TQ-47]',
    async (spine) => {
      const moved: object[] = [];
      const to = telegram({ url: bot.url, token: TOKEN, buttons: true });
      const deliverer = new Deliverer(
        spine.engine.core,
        () => to,
        (said) => moved.push(said),
      );
      bot.say('/status', { chat: -1_001_234 });
      assert.deepEqual(await heard(spine), [], 'nobody knows that chat yet');
      bot.replies.push({
        status: 400,
        body: {
          ok: false,
          description: 'Bad Request: group chat was upgraded to a supergroup chat',
          parameters: { migrate_to_chat_id: -1_001_234 },
        },
      });
      await finished(spine, await create(spine, { title: 'one', announce: true }));
      await deliverAll(deliverer);
      await deliverAll(deliverer);
      assert.deepEqual(moved, [{ channel: 'telegram', from: '-100', to: '-1001234' }]);
      assert.deepEqual(bot.texts, ['one completed by w.']);
      bot.say('/status', { chat: -1_001_234 });
      assert.match((await heard(spine)).join(), /^Unassigned: 0/);
      await finished(spine, await create(spine, { title: 'two', announce: true }));
      await sendAll(spine);
      assert.deepEqual(
        bot.taken.filter(({ body }) => 'text' in body).map(({ body }) => body['chat_id']),
        ['-1001234', '-1001234', '-1001234'],
      );
    },
    OPTIONS,
  );

  each(
    '/add makes one unassigned task, whose params come from the words in the order of the schema [TQ-46]',
    async (spine) => {
      await saveType(spine);
      bot.say('/add reddit_crawl NVDA 30 wsb,stocks investing');
      assert.deepEqual(await heard(spine), ['Added: Reddit Crawl for NVDA 30 wsb,stocks investing (#1)']);
      const [task] = await claimNext(spine);
      assert.ok(task);
      assert.equal(task.job.createdBy, 'telegram:7');
      assert.deepEqual(JSON.parse(task.input?.params ?? ''), {
        ticker: 'NVDA',
        days: 30,
        subreddits: ['wsb', 'stocks', 'investing'],
      });
      assert.ok((await actorsIn(spine)).includes('telegram:7 job.add'));
      const [made] = await spine.engine.jobs.events(HEAD, task.job.id, 0, 1);
      assert.equal(made?.by, 'telegram:7');
    },
    OPTIONS,
  );

  each(
    'the beginning of a type is enough when no other begins like it, and what does not fit is said [TQ-46]',
    async (spine) => {
      await saveType(spine);
      for (const text of [
        '/add reddit NVDA',
        '/add nothing',
        '/add reddit NVDA soon',
        '/add reddit TOOLONG',
        '/add reddit',
        '/add',
      ])
        bot.say(text);
      const [added, ...refused] = await heard(spine);
      assert.equal(added, 'Added: Reddit Crawl for NVDA (#1)');
      assert.deepEqual(refused.slice(0, 2), [
        '"nothing" is no type. There is: reddit_crawl',
        'days is a integer: "soon" is none.',
      ]);
      assert.match(refused[2] ?? '', /does not fit type reddit_crawl: .*ticker/);
      assert.match(refused[3] ?? '', /does not fit type reddit_crawl/);
      assert.equal(refused[4], 'Say which type: /add <type> <words>');
      assert.equal((await claimNext(spine, { max: 10 })).length, 1);
    },
    OPTIONS,
  );

  each(
    '/status tells what waits, runs and failed today, and /pause stops the door and nothing else [TQ-46]',
    async (spine) => {
      await failed(spine, await create(spine), false);
      await claimed(spine, await create(spine));
      await create(spine);
      bot.say('/status@SpineBot');
      assert.deepEqual(await heard(spine), ['Unassigned: 1\nRunning: 1\nFailed today: 1']);
      await spine.clock.advance(86_400_000);
      bot.say('/pause');
      bot.say('/status');
      assert.deepEqual(await heard(spine), [
        'The queue is paused: what runs goes on, nothing new is handed out. A worker may still begin what is assigned to it.',
        'Unassigned: 1\nRunning: 1\nFailed today: 0\nPaused by telegram:7',
      ]);
      const atDoor = (): Promise<readonly unknown[]> =>
        spine.engine.leases.claimNext(worker('w'), { targets: ['any'], max: 1, waitMs: 0, door: 'clawdbot' });
      assert.equal((await atDoor()).length, 0);
      const waiting = spine.engine.leases.claimNext(worker('w'), {
        targets: ['any'],
        max: 1,
        waitMs: 60_000,
        door: 'clawdbot',
      });
      bot.say('/resume');
      assert.deepEqual(await heard(spine), ['The queue goes on.']);
      assert.equal((await waiting).length, 1, 'whoever waited there is served');
      assert.deepEqual((await actorsIn(spine)).slice(0, 2), [
        'telegram:7 door.resume',
        'telegram:7 door.pause',
      ]);
    },
    OPTIONS,
  );

  each(
    '/pause and /resume with a type stop that type alone [TQ-46]',
    async (spine) => {
      await saveType(spine);
      await create(spine, { type: 'reddit_crawl', params: { ticker: 'A' } });
      bot.say('/pause reddit');
      assert.match((await heard(spine))[0] ?? '', /^The type reddit_crawl is paused/);
      assert.equal((await claimNext(spine)).length, 0);
      bot.say('/resume reddit_crawl');
      await heard(spine);
      assert.equal((await claimNext(spine)).length, 1);
    },
    OPTIONS,
  );

  each(
    'an approval is decided by a button, once, by whoever was first [TQ-46]',
    async (spine) => {
      const [one, two] = [
        await create(spine, { title: 'Spend', announce: true, approval: {} }),
        await create(spine, { title: 'Other', announce: true, approval: {} }),
      ];
      assert.equal((await heard(spine)).length, 2);
      const reject = bot.buttons().get('Reject') ?? '';
      bot.press(`approve:${one.id}`);
      bot.press(`approve:${one.id}`, { user: 8 });
      bot.press(reject);
      await heard(spine);
      assert.deepEqual(bot.answers, [
        'Approved: Spend (#1)',
        'It was decided already: approved by telegram:7.',
        'Rejected: Other (#2)',
      ]);
      assert.deepEqual([await stateOf(spine, one), await stateOf(spine, two)], ['queued', 'cancelled']);
      assert.equal((await spine.engine.approvals.get(one.id)).resolvedBy, 'telegram:7');
      assert.deepEqual((await actorsIn(spine)).slice(0, 2), [
        'telegram:7 approval.reject',
        'telegram:7 approval.approve',
      ]);
    },
    OPTIONS,
  );

  each(
    'an approval is decided by words: the only one without saying which, of several by its number [TQ-46]',
    async (spine) => {
      bot.say('/approve');
      const one = await create(spine, { title: 'One', approval: {} });
      assert.deepEqual(await heard(spine), ['Approved: One (#1)']);
      const [two, three] = [
        await create(spine, { title: 'Two', approval: {} }),
        await create(spine, { title: 'Three', approval: {} }),
      ];
      bot.say('/reject');
      bot.say('/reject #2 too dear');
      bot.say(`/approve ${three.id}`);
      bot.say('/approve 99');
      assert.deepEqual(await heard(spine), [
        'Say which: /reject <number>\n#3 Three\n#2 Two',
        'Rejected: Two (#2)',
        'Approved: Three (#3)',
        'No task "99" was ever up for approval.',
      ]);
      assert.deepEqual(
        [await stateOf(spine, one), await stateOf(spine, two), await stateOf(spine, three)],
        ['queued', 'cancelled', 'queued'],
      );
      assert.equal((await read(spine, two)).reason, 'too dear');
    },
    OPTIONS,
  );

  each(
    'a question that is answered by choice has a button for each [TQ-46]',
    async (spine) => {
      await spine.engine.aliases.save(HEAD, {
        alias: 'ops',
        channel: 'telegram',
        target: '-100',
        description: null,
      });
      const job = await claimed(spine, await create(spine));
      await spine.engine.questions.ask(worker('w'), job.id, job.leaseToken, {
        question: 'Which?',
        to: '@ops',
        choices: ['the *first*', 'the second'],
        timeoutMs: 60_000,
      });
      await heard(spine);
      bot.press(bot.buttons().get('the second') ?? '');
      bot.press(bot.buttons().get('the *first*') ?? '');
      await heard(spine);
      assert.deepEqual(bot.answers, ['Answered: the second', 'It was answered already, by telegram:7.']);
      assert.equal(await stateOf(spine, job), 'queued');
    },
    OPTIONS,
  );

  each(
    'a budget that is used up is answered by a button: raised, tomorrow, or paused until somebody resumes it [TQ-46 TQ-48]',
    async (spine) => {
      const { core, spending, routing } = spine.engine;
      const paused = async (): Promise<boolean> => (await routing.current()).pauses.length > 0;
      const useUp = async (): Promise<void> => {
        const job = await create(spine, { type: 'digest' });
        await finished(spine, job, { usage: { totalTokens: 100 } });
        await watchBudgets(core);
        await heard(spine);
      };
      await create(spine, { type: 'digest' });
      await spending.setBudget(HEAD, 'digest', { tokens: 100, costMicros: null });
      await useUp();
      const first = bot.buttons();
      bot.press(first.get('As much again') ?? '');
      await heard(spine);
      assert.equal(await paused(), false);
      await useUp();
      assert.equal(await paused(), true, 'used up again');
      bot.press(bot.buttons().get('Stay paused') ?? '');
      await heard(spine);
      await spine.clock.advance(86_400_000);
      await watchBudgets(core);
      assert.equal(await paused(), true);
      bot.press(first.get('Tomorrow') ?? '');
      bot.say('/resume digest');
      await heard(spine);
      assert.equal(await paused(), false);
      await spine.clock.advance(86_400_000);
      await watchBudgets(core);
      await useUp();
      assert.equal(await paused(), true, 'it counts anew');
      bot.press(bot.buttons().get('Tomorrow') ?? '');
      await heard(spine);
      assert.deepEqual(bot.answers, [
        'digest goes on, with as much again for today.',
        'digest stays paused until somebody resumes it.',
        'The budget of digest does not wait for an answer any more.',
        'digest goes on tomorrow.',
      ]);
    },
    OPTIONS,
  );

  each(
    'nobody else is obeyed: other chats are not answered, their buttons are, and nothing happens [TQ-46]',
    async (spine) => {
      const job = await create(spine, { title: 'Spend', announce: true, approval: {} });
      bot.say('/approve', { chat: -200 });
      bot.say('/status@OtherBot');
      bot.say('hello');
      bot.press(`approve:${job.id}`, { chat: -200 });
      bot.press('approve:nonsense');
      bot.press('buy:everything');
      bot.bring({ edited_message: { message_id: 1, from: { id: 7 }, chat: { id: -100 }, text: '/approve' } });
      bot.bring({ channel_post: { message_id: 1, chat: { id: -100 }, text: '/approve' } });
      bot.bring({ callback_query: { id: 'q!', from: { id: 7 }, data: `approve:${job.id}` } });
      bot.bring({ message: { chat: { id: '-100' }, from: { id: {} }, text: { length: 9 } } });
      bot.bring({ message: null, callback_query: 17 });
      const said = await heard(spine);
      assert.equal(said.length, 1, 'only what is to be approved');
      assert.deepEqual(bot.answers, [
        'You may not do that here.',
        'No task "nonsense" was ever up for approval.',
        'This button is from another time.',
      ]);
      assert.equal(await stateOf(spine, job), 'awaiting_approval');
      assert.equal(bot.unconfirmed(), 0);
    },
    OPTIONS,
  );

  each(
    'a command is done once, whoever reads it again after a death in between [TQ-46]',
    async (spine) => {
      await saveType(spine);
      const first = readerOf(spine);
      bot.say('/add reddit NVDA');
      // Done and counted; that it was, Telegram has not heard when this server is gone.
      await first.runOnce();
      assert.equal(bot.unconfirmed(), 1);
      const reopened = await spine.reopen?.(OPTIONS);
      assert.ok(reopened);
      await using again = reopened;
      await again.clock.advance(120_000);
      assert.deepEqual(await heard(again), ['Added: Reddit Crawl for NVDA (#1)']);
      assert.equal((await claimNext(again, { max: 10 })).length, 1);
    },
    OPTIONS,
  );

  each(
    'Telegram is asked less often while it is away, limits, or is read by somebody else, and that is said once [TQ-46]',
    async (spine) => {
      const reader = readerOf(spine);
      const pause = async (): Promise<number> => (await reader.runOnce()).nextInMs ?? 0;
      bot.replies.push(limited(45));
      assert.equal(await pause(), 45_000);
      const conflict = {
        status: 409,
        body: { ok: false, description: 'Conflict: other getUpdates request' },
      };
      bot.replies.push(conflict, conflict);
      assert.equal(await pause(), 30_000);
      assert.equal(await pause(), 30_000);
      bot.replies.push({ status: 401, body: { ok: false, description: `Unauthorized ${TOKEN}` } });
      assert.ok((await pause()) >= 8_000);
      bot.replies.push({ status: 200, body: '<html>' });
      await pause();
      assert.equal(troubles.length, 4);
      assert.ok(!troubles.join().includes('secret'), troubles.join());
      bot.say('/help');
      assert.match((await heard(spine, reader))[0] ?? '', /^\/status/);
    },
    OPTIONS,
  );

  each(
    'a flood of commands is cut, and an update that is too long alone is passed over [TQ-46]',
    async (spine) => {
      const reader = readerOf(spine);
      for (let i = 0; i < 60; i++) bot.say('/help');
      bot.say('/help', { user: 8 });
      assert.equal((await heard(spine, reader)).length, 21, '20 of one person in a minute');
      bot.bring({ message: { from: { id: 7 }, chat: { id: -100 }, text: `/help ${'x'.repeat(1_100_000)}` } });
      bot.say('/help', { user: 9 });
      assert.equal((await heard(spine, reader)).length, 1);
      await spine.clock.advance(60_000);
      bot.say('/help');
      assert.equal((await heard(spine, reader)).length, 1);
    },
    OPTIONS,
  );
});

onEvery([POSTGRES], (each) => {
  each(
    'one server reads at a time; another goes on when it stops, or has died [TQ-46]',
    async (spine) => {
      await using other = (await spine.another?.({ ...OPTIONS, server: 'elsewhere' })) as Opened;
      const [one, two] = [readerOf(spine), readerOf(other)];
      bot.say('/help');
      await one.runOnce();
      const { done, nextInMs } = await two.runOnce();
      assert.deepEqual([done, (nextInMs ?? 0) > 60_000], [0, true]);
      await one.release();
      assert.equal((await two.runOnce()).done, 0);
      assert.equal(bot.unconfirmed(), 0, 'the second has confirmed what the first did');
      assert.equal((await one.runOnce()).done, 0);
      bot.say('/help');
      await spine.clock.advance(91_000);
      assert.equal((await one.runOnce()).done, 1);
      await sendAll(spine);
      assert.equal(bot.texts.length, 2);
    },
    OPTIONS,
  );
});
