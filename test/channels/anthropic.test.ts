import assert from 'node:assert/strict';
import { test } from 'node:test';
import { anthropic as model } from '../../src/channels/anthropic.ts';
import { SendError } from '../../src/channels/channel.ts';
import { anthropic, no } from '../support/anthropic.ts';

const KEY = 'sk-ant-secret';
const NEVER = new AbortController().signal;

async function trouble(asking: Promise<unknown>): Promise<SendError> {
  const error: unknown = await asking.then(
    () => null,
    (cause: unknown) => cause,
  );
  assert.ok(error instanceof SendError, `no SendError, but ${String(error)}`);
  assert.ok(!/sk-\w/.test(error.message), error.message);
  return error;
}

test('asks as the API wants to be asked, and tells what it cost [TQ-27]', async () => {
  await using api = await anthropic(KEY);
  api.say = () => 'Wait longer.';
  const asked = model({ url: `${api.url}/`, key: KEY, model: 'claude-x', timeoutMs: 5_000 });
  assert.deepEqual(await asked.ask('x'.repeat(40), NEVER), {
    text: 'Wait longer.',
    inputTokens: 10,
    outputTokens: 3,
  });
  assert.equal(api.taken[0]?.body['model'], 'claude-x');
});

test('says why there is no answer, without the key [TQ-27]', async () => {
  await using api = await anthropic(KEY);
  const asked = model({ url: api.url, key: KEY, model: 'm', timeoutMs: 5_000 });
  const other = model({ url: api.url, key: 'sk-other', model: 'm', timeoutMs: 5_000 });
  assert.match(
    (await trouble(other.ask('x', NEVER))).message,
    /^the model answered 401: invalid x-api-key …/,
  );
  api.replies.push(no(429, 'rate_limit_error', 'slow down', { 'retry-after': '7' }));
  assert.equal((await trouble(asked.ask('x', NEVER))).retryAfterMs, 7_000);
  api.replies.push(no(500, 'api_error', `oops ${KEY}`));
  assert.equal((await trouble(asked.ask('x', NEVER))).message, 'the model answered 500: oops …');
  for (const body of [
    '<html>',
    { content: 'text' },
    { content: [{ type: 'image' }] },
    { content: [null] },
    [],
  ]) {
    api.replies.push({ status: 200, body });
    assert.equal(
      (await trouble(asked.ask('x', NEVER))).message,
      'the model answered something else than a message',
    );
  }
});

test('gives up on an answer that never comes, is far too long, or is called off [TQ-27]', async () => {
  await using api = await anthropic(KEY);
  const asked = model({ url: api.url, key: KEY, model: 'm', timeoutMs: 200 });
  api.say = () => 'x'.repeat(200_000);
  assert.match((await trouble(asked.ask('x', NEVER))).message, /something else than a message/);
  api.hang();
  assert.equal((await trouble(asked.ask('x', NEVER))).message, 'the model did not answer within 0.2 s');
  const stop = new AbortController();
  const waiting = model({ url: api.url, key: KEY, model: 'm', timeoutMs: 60_000 }).ask('x', stop.signal);
  stop.abort();
  await trouble(waiting);
});
