import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Channel, type OutgoingMessage, SendError } from '../../src/channels/channel.ts';
import { channelsOf, type ChannelOptions } from '../../src/channels/channels.ts';
import { log } from '../../src/channels/log.ts';
import { slack } from '../../src/channels/slack.ts';
import { telegram } from '../../src/channels/telegram.ts';
import { bold, escaped } from '../../src/domain/chat-markup.ts';
import { startStandIn } from '../support/gateway/stand-in.ts';
import * as receivers from '../support/receivers.ts';
import { telegram as telegramBot } from '../support/telegram.ts';
import { textOfMarkdown } from '../support/telegram-markdown.ts';

const TOKEN = '123456:secret-of-the-bot';
const NEVER = new AbortController().signal;

function message(target: string, text: string): OutgoingMessage {
  return { id: 'd1', kind: 'result', target, text, createdAt: 0, runId: 'r1', scheduleId: 's1' };
}

async function sendAll(channel: Channel, target: string, text: string): Promise<object[]> {
  const proofs: object[] = [];
  for (const part of channel.parts(text, target))
    proofs.push(await channel.send(message(target, part), NEVER));
  return proofs;
}

async function trouble(sending: Promise<unknown>): Promise<SendError> {
  const error: unknown = await sending.then(
    () => null,
    (cause: unknown) => cause,
  );
  assert.ok(error instanceof SendError, `no SendError, but ${String(error)}`);
  assert.ok(!error.message.includes(TOKEN) && !error.message.includes('secret'), error.message);
  return error;
}

test('Telegram gets any text as it is, in messages that fit, in order, and their numbers are the proof [SC-50]', async () => {
  await using bot = await telegramBot(TOKEN);
  const channel = telegram({ url: bot.url, token: TOKEN });
  assert.deepEqual(await sendAll(channel, '-100:7', '<b>5 & 6</b> *x* _y_ ['), [{ messageId: '1' }]);
  assert.deepEqual(bot.taken[0]?.body, {
    chat_id: '-100',
    text: '<b>5 & 6</b> *x* _y_ [',
    message_thread_id: 7,
  });
  const long = Array.from({ length: 300 }, (_, i) => `${i} ${'😀'.repeat(20)}`).join('\n\n');
  const proofs = await sendAll(channel, '@channel', long);
  assert.ok(proofs.length > 3);
  const got = bot.taken.slice(1).map(({ body }) => body['text']);
  assert.equal(got.join('\n\n'), long);
});

test('Telegram is left alone as long as it asks for, and its token is in no error', async () => {
  await using bot = await telegramBot(TOKEN);
  const channel = telegram({ url: bot.url, token: TOKEN });
  const body = {
    ok: false,
    description: 'Too Many Requests: retry after 35',
    parameters: { retry_after: 35 },
  };
  bot.replies.push({ status: 429, body });
  const limited = await trouble(channel.send(message('1', 'x'), NEVER));
  assert.equal(limited.retryAfterMs, 35_000);
  assert.equal(limited.final, false);
  bot.replies.push({ status: 401, body: { ok: false, description: `Unauthorized: bot${TOKEN}` } });
  assert.equal((await trouble(channel.send(message('1', 'x'), NEVER))).final, false);
  assert.equal((await trouble(channel.send(message('no chat', 'x'), NEVER))).final, true);
  assert.equal((await trouble(channel.send(message('1', ' '), NEVER))).final, true);
  bot.replies.push({ status: 302, headers: { location: `${bot.url}/bot${TOKEN}/sendMessage` } });
  assert.match((await trouble(channel.send(message('1', 'x'), NEVER))).message, /302/);
  await bot[Symbol.asyncDispose]();
  const away = await trouble(channel.send(message('1', 'x'), NEVER));
  assert.match(away.message, /^cannot reach Telegram: ECONN/);
});

test('Slack gets what could be markup escaped, in messages that fit even then', async () => {
  await using workspace = await receivers.slack(TOKEN);
  const channel = slack({ url: workspace.url, token: TOKEN, webhookUrl: null });
  const [proof] = await sendAll(channel, '#ops', 'a < b & c > d <!channel>');
  assert.match(JSON.stringify(proof), /"messageId":"1700000000/);
  assert.deepEqual(workspace.taken[0]?.body, {
    channel: '#ops',
    text: 'a &lt; b &amp; c &gt; d &lt;!channel&gt;',
  });
  const long = `${'&'.repeat(3_000)} ${'<>'.repeat(2_000)}`;
  assert.ok((await sendAll(channel, '#ops', long)).length > 5);
  const got = workspace.taken.slice(1).map(({ body }) => String(body['text']));
  assert.equal(
    got.join('').replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&'),
    long.replace(' ', ''),
  );
});

test('Slack says no with 200, and its limit in a header', async () => {
  await using workspace = await receivers.slack(TOKEN);
  const channel = slack({ url: workspace.url, token: TOKEN, webhookUrl: null });
  assert.match((await trouble(channel.send(message('nowhere', 'x'), NEVER))).message, /channel_not_found/);
  workspace.replies.push({ status: 429, headers: { 'retry-after': '12' } });
  assert.equal((await trouble(channel.send(message('#ops', 'x'), NEVER))).retryAfterMs, 12_000);
});

test('an incoming webhook of Slack takes the text without a bot', async () => {
  await using workspace = await receivers.slack(TOKEN);
  const channel = slack({ url: workspace.url, token: null, webhookUrl: `${workspace.url}/services/x` });
  assert.deepEqual(await sendAll(channel, '#ops', 'a < b'), [{ status: 200 }]);
  workspace.replies.push({ status: 403, body: 'action_prohibited' });
  assert.match((await trouble(channel.send(message('#ops', 'x'), NEVER))).message, /action_prohibited/);
});

async function openWith(given: Partial<ChannelOptions>) {
  const gateway = await startStandIn({ token: TOKEN });
  const other = await startStandIn({ token: null });
  const silent = log(() => undefined);
  const channelOf = channelsOf({
    webhook: silent,
    log: silent,
    gateways: [
      { name: 'main', url: gateway.url, token: TOKEN },
      { name: 'ops', url: `${other.url}/`, token: null },
    ],
    telegram: { url: 'http://127.0.0.1:1', token: null, enabled: true },
    slack: { url: 'http://127.0.0.1:1', token: null, webhookUrl: null },
    ...given,
  });
  return {
    gateway,
    other,
    channelOf,
    [Symbol.asyncDispose]: async () => {
      await gateway.stop();
      await other.stop();
    },
  };
}

test("without a token of its own, Telegram and Slack go by the gateway's message tool", async () => {
  await using house = await openWith({});
  assert.deepEqual(await sendAll(house.channelOf('telegram'), '42', 'hello'), [{ messageId: 'm1' }]);
  await sendAll(house.channelOf('slack'), '#ops', 'a < b');
  await sendAll(house.channelOf('discord'), '7', 'x'.repeat(3_000));
  assert.deepEqual(
    house.gateway.state.messages.map(({ channel, target, text }) => [channel, target, text.length]),
    [
      ['telegram', '42', 5],
      ['slack', '#ops', 5],
      ['discord', '7', 2_000],
      ['discord', '7', 1_000],
    ],
  );
});

test('with a token of its own, Telegram goes by the bot and not by the gateway', async () => {
  await using bot = await telegramBot(TOKEN);
  await using house = await openWith({ telegram: { url: bot.url, token: TOKEN, enabled: true } });
  await sendAll(house.channelOf('telegram'), '42', 'hello');
  assert.equal(bot.taken.length, 1);
  assert.deepEqual(house.gateway.state.messages, []);
});

test('switched off, nothing goes to Telegram, neither by the bot nor by the gateway [TQ-33]', async () => {
  await using bot = await telegramBot(TOKEN);
  for (const token of [TOKEN, null]) {
    await using house = await openWith({ telegram: { url: bot.url, token, enabled: false } });
    const off = await trouble(house.channelOf('telegram').send(message('42', 'hello'), NEVER));
    assert.deepEqual([off.final, off.message], [true, 'Telegram is switched off: TELEGRAM_ENABLED is false']);
    assert.deepEqual(house.gateway.state.messages, []);
  }
  assert.deepEqual(bot.came, []);
});

test('lines of the chat go with their markup, and without it when Telegram cannot read it [TQ-30]', async () => {
  await using bot = await telegramBot(TOKEN);
  const channel = telegram({ url: bot.url, token: TOKEN });
  const send = (text: string) => channel.send({ ...message('-100', text), kind: 'chat' }, NEVER);
  await send(`${bold('a*b_c')} completed by ${escaped('w_1 [x](y)')}.`);
  await send('*never closed by \\_ anybody');
  assert.deepEqual(
    bot.taken.map(({ body }) => [body['parse_mode'], body['text']]),
    [
      ['Markdown', '*a*\\**b_c* completed by w\\_1 \\[x](y).'],
      [undefined, 'never closed by \\_ anybody'],
    ],
  );
  assert.equal(bot.came.length, 3);
  assert.equal(textOfMarkdown(String(bot.taken[0]?.body['text'])), 'a*b_c completed by w_1 [x](y).');
});

test('a place at a gateway may be at another one, by name', async () => {
  await using house = await openWith({});
  await sendAll(house.channelOf('gateway'), 'ops/whatsapp:+49', 'hello');
  assert.deepEqual(house.other.state.messages, [{ channel: 'whatsapp', target: '+49', text: 'hello' }]);
  const unknown = await trouble(house.channelOf('gateway').send(message('moon/telegram:1', 'x'), NEVER));
  assert.equal(unknown.final, true);
  house.gateway.state.draining = true;
  const away = await trouble(house.channelOf('telegram').send(message('1', 'x'), NEVER));
  assert.equal(away.retryAfterMs, 1_000);
});
