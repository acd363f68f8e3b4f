import { deepStrictEqual, ok, rejects, strictEqual } from 'node:assert';
import { after, before, test } from 'node:test';
import type { Gateway } from '../../../src/gateway/gateway.ts';
import { type RealGateway, startRealGateway } from '../../support/gateway/real-gateway.ts';
import { clientOf, eventually, ignore, never, refOf, TRANSPORTS, turnOf } from './support.ts';

let real: RealGateway;
let gateway: Gateway;

before(async () => {
  real = await startRealGateway();
  gateway = clientOf(real);
  await gateway.run(turnOf({ say: 'warm' }), 'websocket', never, ignore);
});

after(async () => {
  await gateway.close();
  await real.stop();
});

test('a gateway that drains is not ready, takes nothing, and ends the turns it has [SC-03]', async () => {
  const asked = real.modelRequests().length;
  const runs = TRANSPORTS.map((transport) =>
    gateway.run(turnOf({ delayMs: 6_000, say: `drained ${transport}` }), transport, never, ignore),
  );
  await eventually('the model has both', () => real.modelRequests().length >= asked + 2);
  real.drain();
  await eventually('it drains', async () => !(await gateway.readiness()).ready);
  deepStrictEqual(await gateway.readiness(), { ready: false, why: 'gateway-draining' });
  for (const transport of TRANSPORTS) {
    const late = gateway.run(turnOf({ say: 'never' }), transport, never, ignore);
    await rejects(late, { kind: 'draining', accepted: false });
  }
  deepStrictEqual(
    (await Promise.all(runs)).map(({ text }) => text),
    ['drained websocket', 'drained chat'],
  );
  await real.gone();
  strictEqual((await gateway.readiness()).ready, false);
  await rejects(gateway.transport(), { kind: 'down' });
  await real.restart();
  strictEqual(await gateway.transport(), 'websocket');
});

test('turns that a crash of the gateway cut off are found and followed to their answers', async () => {
  const asked = real.modelRequests().length;
  const turns = TRANSPORTS.map((transport) => {
    const turn = turnOf({ delayMs: 4_000, say: `survived ${transport}` });
    return { turn, ref: refOf(turn, transport), transport };
  });
  const lost = turns.map(({ turn, transport }) =>
    rejects(gateway.run(turn, transport, never, ignore), { kind: 'lost', accepted: true }),
  );
  await eventually('the model has both', () => real.modelRequests().length >= asked + 2);
  await real.kill9();
  await Promise.all(lost);
  for (const { ref } of turns) strictEqual((await gateway.activity(ref)).status, 'unknown');
  const followed = turns.map(({ ref }) => gateway.follow(ref, never));
  await real.restart();
  for (const { ref } of turns) {
    await eventually('it is resumed', async () => {
      const { status, mark } = await gateway.activity(ref);
      ok(status !== 'absent');
      return status === 'ended' || mark !== null;
    });
  }
  const results = await Promise.all(followed);
  deepStrictEqual(
    results.map(({ text }) => text),
    ['survived websocket', 'survived chat'],
  );
  for (const { usage } of results) ok((usage?.totalTokens ?? 0) > 0);
});
