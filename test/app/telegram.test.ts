import assert from 'node:assert/strict';
import { test } from 'node:test';
import { until } from '../support/clock.ts';
import { startServer, type TestServer } from '../support/server.ts';
import { telegram } from '../support/telegram.ts';

const TOKEN = '123456:secret-of-the-bot';
const CHAT = '-100';

/** A job that is announced, done by the left claw. */
async function completeOne(server: TestServer, title: string): Promise<void> {
  const job = { title, target: 'any', announce: true };
  assert.equal((await server.head.post('/jobs', job)).status, 201);
  const { body } = await server.left.post<{ jobs: { id: string; leaseToken: string }[] }>('/jobs/claim', {
    targets: ['any'],
  });
  const [{ id, leaseToken } = { id: '', leaseToken: '' }] = body.jobs;
  const end = await server.left.post(`/jobs/${id}/complete`, {
    leaseToken,
    result: { posts_collected: 847 },
  });
  assert.equal(end.status, 200);
}

test('a stopping server sends the half full window first, and its token is nowhere [TQ-29 TQ-33 TQ-34 T7 T8]', async () => {
  await using bot = await telegram(TOKEN);
  await using server = await startServer({
    logLevel: 'debug',
    env: { TELEGRAM_BOT_TOKEN: TOKEN, TELEGRAM_CHAT_ID: CHAT, TELEGRAM_API_URL: bot.url },
  });
  await completeOne(server, 'Reddit Crawl for NVDA');
  const seen = await Promise.all(
    ['/config', '/health/details', '/deliveries', '/metrics'].map(async (path) =>
      JSON.stringify((await server.head.get(path)).body),
    ),
  );
  assert.match(seen[0] ?? '', /"TELEGRAM_BOT_TOKEN","value":"\*{8}"/);
  await server.kill('SIGTERM');
  assert.equal(server.exitCode, 0);
  assert.deepEqual(bot.texts, ['Reddit Crawl for NVDA completed by left-claw. posts_collected: 847']);
  const said = bot.taken.find(({ path }) => path === `/bot${TOKEN}/sendMessage`);
  assert.deepEqual([said?.body['chat_id'], said?.body['parse_mode']], [CHAT, 'Markdown']);
  for (const text of [...seen, server.output()]) assert.ok(!text.includes('secret'), text);
});

test('switched off, or without a token, nothing is called and nothing complains [TQ-33 T6]', async () => {
  await using bot = await telegram(TOKEN);
  const chat = { TELEGRAM_CHAT_ID: CHAT, TELEGRAM_API_URL: bot.url, TELEGRAM_BATCH_MS: '0' };
  const ways = [
    { ...chat, TELEGRAM_BOT_TOKEN: TOKEN, TELEGRAM_ENABLED: 'false' },
    { ...chat, TELEGRAM_BOT_TOKEN: '' },
  ];
  for (const env of ways) {
    await using server = await startServer({ env });
    await completeOne(server, 'T');
    const { body } = await server.head.get<{ deliveries: unknown[] }>('/deliveries');
    assert.deepEqual(body.deliveries, []);
    await server.kill('SIGTERM');
    assert.equal(server.exitCode, 0);
    assert.doesNotMatch(server.output(), /"level":"(?:warn|error)"/);
  }
  assert.deepEqual(bot.came, []);
});

test('commands are read by long polling, done once though the server is killed, and the token is nowhere [TQ-46]', async () => {
  await using bot = await telegram(TOKEN);
  const env = { TELEGRAM_BOT_TOKEN: TOKEN, TELEGRAM_CHAT_ID: CHAT, TELEGRAM_API_URL: bot.url };
  await using server = await startServer({ logLevel: 'debug', env });
  const type = { label: 'Reddit Crawl', paramsSchema: { properties: { ticker: { type: 'string' } } } };
  await server.head.request('PUT', '/types/reddit_crawl', { body: type });
  bot.say('/add reddit NVDA');
  const count = async (): Promise<number> =>
    (await server.head.get<{ jobs: unknown[] }>('/jobs?type=reddit_crawl')).body.jobs.length;
  await until('it is said', () => bot.texts.length === 1);
  assert.deepEqual([bot.texts[0], await count()], ['Added: Reddit Crawl for NVDA (#1)', 1]);
  await until('it is written down that it was said', async () => {
    const { body } = await server.head.get<{ deliveries: unknown[] }>('/deliveries?status=delivered');
    return body.deliveries.length === 1;
  });
  // It is killed, and Telegram tells of the command once more.
  await server.kill('SIGKILL');
  bot.repeat();
  await server.restart();
  bot.say('/status');
  await until('the next is answered', () => bot.texts.length >= 2);
  assert.deepEqual([bot.texts.slice(1), await count()], [['Unassigned: 1\nRunning: 0\nFailed today: 0'], 1]);
  const config = await server.head.get('/config');
  // A wait for commands is under way, and holds up no stop.
  await server.kill('SIGTERM');
  assert.equal(server.exitCode, 0);
  for (const text of [JSON.stringify(config.body), server.output()])
    assert.ok(!text.includes('secret'), text);
});
