import { deepStrictEqual, match, strictEqual } from 'node:assert';
import { test } from 'node:test';
import { FakeClock, until } from '../support/clock.ts';
import { open } from './support.ts';

test('a gateway is ready when /readyz says so, and /health is not asked [SC-03]', async (t) => {
  const { gateway, standIn } = await open(t);
  deepStrictEqual(await gateway.readiness(), { ready: true, why: null });
  strictEqual(standIn.requests('/health').length, 0);
});

test('a gateway that drains is not ready, although it is healthy [SC-03]', async (t) => {
  const { gateway, standIn } = await open(t);
  standIn.state.draining = true;
  deepStrictEqual(await gateway.readiness(), { ready: false, why: 'gateway-draining' });
  strictEqual((await fetch(`${standIn.url}/health`)).status, 200);
});

test('a gateway that is not there is not ready, and comes back [SC-03]', async (t) => {
  const { gateway, standIn } = await open(t);
  await standIn.down();
  const { ready, why } = await gateway.readiness();
  strictEqual(ready, false);
  match(why ?? '', /cannot reach the gateway/);
  await standIn.up();
  strictEqual((await gateway.readiness()).ready, true);
});

test('a gateway that does not answer is not ready after five seconds', async (t) => {
  const clock = new FakeClock();
  const { gateway, standIn } = await open(t, { clock });
  standIn.state.silent.add('/readyz');
  const asked = gateway.readiness();
  await until('the stand-in was asked', () => standIn.requests('/readyz').length === 1);
  await clock.advance(5_000);
  deepStrictEqual(await asked, { ready: false, why: 'no answer within 5000 ms' });
});

test('a gateway from before /readyz is judged by /health', async (t) => {
  const { gateway, standIn } = await open(t);
  standIn.state.old = true;
  strictEqual((await gateway.readiness()).ready, true);
});

test('turns go over the WebSocket where the gateway offers it', async (t) => {
  const { gateway } = await open(t);
  strictEqual(await gateway.transport(), 'websocket');
});

for (const [why, changes, prepare] of [
  ['there is no WebSocket', {}, true],
  ['there is no token for it', { token: null }, false],
  ['the token is refused', { token: 'wrong' }, false],
] as const) {
  test(`turns go over chat completions where ${why}`, async (t) => {
    const { gateway, standIn } = await open(t, changes);
    if (prepare) standIn.state.websocket = false;
    strictEqual(await gateway.transport(), 'chat');
  });
}

test('the choice is remembered for a minute, and then looked at again', async (t) => {
  const clock = new FakeClock();
  const { gateway, standIn } = await open(t, { clock });
  standIn.state.websocket = false;
  strictEqual(await gateway.transport(), 'chat');
  standIn.state.websocket = true;
  strictEqual(await gateway.transport(), 'chat');
  await clock.advance(60_000);
  const again = gateway.transport();
  await clock.advance(1_000);
  strictEqual(await again, 'websocket');
});

test('a gateway that refuses our token is not ready, and is once it takes it', async (t) => {
  const { gateway, standIn } = await open(t, { token: 'a wrong one' });
  const { ready, why } = await gateway.readiness();
  strictEqual(ready, false);
  match(why ?? '', /refuses our token: set OPENCLAW_GATEWAY_TOKEN/);
  standIn.state.anyToken = true;
  strictEqual((await gateway.readiness()).ready, true);
  // A token that was taken is not tried each time.
  await gateway.readiness();
  strictEqual(standIn.requests('/tools/invoke').length, 2);
});
