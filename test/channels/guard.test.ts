import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SendError } from '../../src/channels/channel.ts';
import { AddressGuard } from '../../src/channels/guard.ts';
import { webhook } from '../../src/channels/webhook.ts';
import { webhookReceiver } from '../support/receivers.ts';

const NEVER = new AbortController().signal;
const at = (...addresses: string[]) =>
  addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));

function send(guard: AddressGuard, target: string) {
  return webhook({ guard, secret: 's', now: () => 0 }).send(
    { id: 'd1', kind: 'result', target, text: 'hello', createdAt: 0, runId: null, scheduleId: null },
    NEVER,
  );
}

async function refusal(sending: Promise<unknown>): Promise<SendError> {
  const error: unknown = await sending.then(
    () => null,
    (cause: unknown) => cause,
  );
  assert.ok(error instanceof SendError, String(error));
  return error;
}

test('inner addresses are refused when a webhook is saved and when it is called, and nothing is connected to', async () => {
  await using receiver = await webhookReceiver();
  const guard = new AddressGuard([]);
  for (const host of [
    '127.0.0.1',
    '0x7f.1',
    '2130706433',
    '[::ffff:7f00:1]',
    'localhost',
    '169.254.169.254',
  ]) {
    const url = `http://${host}:${receiver.port}/`;
    assert.match((await guard.problem(url)) ?? 'allowed', /inner address/, host);
    const error = await refusal(send(guard, url));
    assert.ok(error.final && /inner address/.test(error.message), `${host}: ${error.message}`);
  }
  assert.deepEqual(receiver.came, []);
});

test('a name that leads inside is refused when it is saved', async () => {
  const guard = new AddressGuard([], async () => at('8.8.8.8', '10.0.0.1'));
  assert.match((await guard.problem('https://rebind.example/')) ?? 'allowed', /inner address/);
  const gone = new AddressGuard([], () => Promise.reject(new Error('ENOTFOUND')));
  assert.equal(await gone.problem('https://not-yet.example/'), null, 'judged when it is called');
});

test('a name that leads inside only when it is called is refused then: what is resolved is what is connected to', async () => {
  await using receiver = await webhookReceiver();
  let asked = 0;
  const guard = new AddressGuard([], async () => (++asked === 1 ? at('8.8.8.8') : at('127.0.0.1')));
  const url = `http://rebind.example:${receiver.port}/`;
  assert.equal(await guard.problem(url), null);
  const error = await refusal(send(guard, url));
  assert.ok(error.final && /inner address/.test(error.message), error.message);
  assert.equal(asked, 2, 'it was resolved once for the call');
  assert.deepEqual(receiver.came, []);
});

test('a redirect is not followed', async () => {
  await using inner = await webhookReceiver();
  await using receiver = await webhookReceiver();
  receiver.replies.push({ status: 307, headers: { location: inner.url } });
  const error = await refusal(send(new AddressGuard(['127.0.0.1']), receiver.url));
  assert.match(error.message, /the webhook answered 307/);
  assert.deepEqual(inner.came, []);
});

test('a host that the operator names is called under its own name, at the address that was found', async () => {
  await using receiver = await webhookReceiver();
  const guard = new AddressGuard(['hooks.lan'], async () => at('127.0.0.1'));
  const url = `http://hooks.lan:${receiver.port}/x?y=1`;
  assert.equal(await guard.problem(url), null);
  assert.deepEqual(await send(guard, url), { status: 200 });
  const [got] = receiver.taken;
  assert.equal(got?.headers.host, `hooks.lan:${receiver.port}`);
  assert.equal(got?.path, '/x?y=1');
  assert.equal(got?.headers['x-spine-notice'], 'd1');
  assert.match(String(got?.headers['x-spine-signature']), /^t=0,v1=[0-9a-f]{64}$/);
});
