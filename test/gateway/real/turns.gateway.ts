import { deepStrictEqual, notStrictEqual, ok, rejects, strictEqual } from 'node:assert';
import { after, before, test } from 'node:test';
import { accessOf } from '../../../src/gateway/access.ts';
import type { Gateway } from '../../../src/gateway/gateway.ts';
import { listedSessions } from '../../../src/gateway/sessions.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import { type RealGateway, startRealGateway } from '../../support/gateway/real-gateway.ts';
import { REFUSALS, refusalOf } from '../../support/gateway/refusals.ts';
import { clientOf, eventually, ignore, never, refOf, TRANSPORTS, turnOf, watch } from './support.ts';

let real: RealGateway;
let gateway: Gateway;

before(async () => {
  real = await startRealGateway();
  gateway = clientOf(real);
});

after(async () => {
  await gateway.close();
  await real.stop();
});

test('a gateway that runs is ready and offers the WebSocket [SC-03]', async () => {
  deepStrictEqual(await gateway.readiness(), { ready: true, why: null });
  strictEqual(await gateway.transport(), 'websocket');
});

for (const transport of TRANSPORTS) {
  test(`text and usage of a turn come back over ${transport} [SC-08 SC-81]`, async () => {
    let accepted = 0;
    const { text, usage } = await gateway.run(
      turnOf({ say: 'hello one' }),
      transport,
      never,
      () => accepted++,
    );
    strictEqual(text, 'hello one');
    ok((usage?.inputTokens ?? 0) > 1000 && (usage?.outputTokens ?? 0) >= 1, JSON.stringify(usage));
    strictEqual(accepted, 1);
  });

  test(`usage over ${transport} counts every model call of the turn`, async () => {
    const one = await gateway.run(turnOf({ say: 'done' }), transport, never, ignore);
    const tool = { name: 'exec', args: { command: 'true' }, times: 2 };
    const three = await gateway.run(turnOf({ tool, say: 'done' }), transport, never, ignore);
    strictEqual(three.text, 'done');
    ok((three.usage?.totalTokens ?? 0) > 2.5 * (one.usage?.totalTokens ?? 0), JSON.stringify([one, three]));
  });

  test(`an answer of 100,000 characters over ${transport} is whole`, async () => {
    const { text } = await gateway.run(turnOf({ words: 12_000 }), transport, never, ignore);
    ok(text.startsWith('word0 word1') && text.endsWith('word11999'), `${text.length} characters`);
  });

  test(`a model of its own reaches the provider over ${transport}`, async () => {
    await gateway.run(turnOf({ say: 'from another' }, { model: 'stub/other' }), transport, never, ignore);
    strictEqual(real.modelRequests().at(-1)?.model, 'other');
  });

  test(`words that mean something to a scheduler come back over ${transport}`, async () => {
    for (const say of ['HEARTBEAT_OK', 'NO_FLUSH', 'IDEMPOTENT_SKIP', 'TASK_FAILED: no disk']) {
      strictEqual((await gateway.run(turnOf({ say }), transport, never, ignore)).text, say);
    }
  });

  test(`calling a turn off over ${transport} drops the model call`, async () => {
    const asked = real.modelRequests().length;
    const stop = new AbortController();
    const failed = rejects(gateway.run(turnOf({ hang: true }), transport, stop.signal, ignore), {
      kind: 'aborted',
    });
    await eventually('the model was asked', () => real.modelRequests().length > asked);
    stop.abort();
    await failed;
    await eventually('the model call was dropped', () => real.modelRequests().at(-1)?.aborted === true);
  });

  test(`an unknown agent is refused over ${transport}`, async () => {
    const turn = turnOf({ say: 'never' }, { agentId: 'nobody' });
    await rejects(gateway.run(turn, transport, never, ignore), { kind: 'refused', accepted: false });
  });

  test(`abort stops a hung turn that was started over ${transport}`, async () => {
    const asked = real.modelRequests().length;
    const turn = turnOf({ hang: true });
    const failed = rejects(gateway.run(turn, transport, never, ignore), { accepted: true });
    await eventually('the model was asked', () => real.modelRequests().length > asked);
    strictEqual((await gateway.activity(refOf(turn, transport))).status, 'running');
    strictEqual(await gateway.abort(turn), 'aborted');
    await failed;
    await eventually('the model call was dropped', () => real.modelRequests().at(-1)?.aborted === true);
    // While the turn winds down the gateway still says that it stops it.
    await eventually('nothing runs', async () => (await gateway.abort(turn)) === 'idle');
    strictEqual((await gateway.activity(refOf(turn, transport))).status, 'ended');
  });
}

test('a request that the provider rejects is told by the gateway', async () => {
  const turn = turnOf({ status: 400 });
  await rejects(gateway.run(turn, 'websocket', never, ignore), { kind: 'upstream', accepted: true });
  await rejects(gateway.run(turnOf({ status: 400 }), 'chat', never, ignore), { kind: 'refused' });
});

test('the mark moves while the model streams [SC-09]', async () => {
  const turn = turnOf({ words: 24, gapMs: 200 });
  const run = gateway.run(turn, 'websocket', never, ignore);
  const seen = await watch(gateway, refOf(turn, 'websocket'), 4_000);
  await run;
  const marks = new Set(seen.flatMap(({ mark }) => mark ?? []));
  ok(marks.size >= 3, `${marks.size} marks in ${seen.length} looks`);
});

test('the tool is shown while it runs, and the mark moves with each call [SC-09]', async () => {
  const tool = { name: 'exec', args: { command: 'sleep 2' }, times: 2 };
  const turn = turnOf({ tool, say: 'slept' });
  const run = gateway.run(turn, 'websocket', never, ignore);
  const seen = await watch(gateway, refOf(turn, 'websocket'), 4_500);
  await run;
  const inTool = seen.filter((activity) => activity.tool === 'exec');
  ok(inTool.length > 0 && new Set(inTool.map(({ mark }) => mark)).size >= 2, JSON.stringify(seen));
});

test('the mark stands still while the model is silent [SC-09]', async () => {
  const asked = real.modelRequests().length;
  const turn = turnOf({ hang: true });
  const failed = rejects(gateway.run(turn, 'websocket', never, ignore), { kind: 'aborted' });
  await eventually('the model was asked', () => real.modelRequests().length > asked);
  await watch(gateway, refOf(turn, 'websocket'), 1_000);
  const seen = await watch(gateway, refOf(turn, 'websocket'), 3_000);
  strictEqual(new Set(seen.map(({ mark }) => mark)).size, 1);
  notStrictEqual(seen[0]?.mark, null);
  await gateway.abort(turn);
  await failed;
});

test('a chat turn is seen over HTTP alone, without a mark [SC-09]', async () => {
  const { url, token, cli } = real;
  const access = accessOf({
    name: 'http',
    url,
    token,
    hookToken: null,
    cli,
    cliEnv: {},
    clock: systemClock(),
  });
  const turn = turnOf({ words: 12, gapMs: 200 });
  const run = gateway.run(turn, 'chat', never, ignore);
  const ref = refOf(turn, 'chat');
  await eventually('it runs', async () => (await listedSessions(access).look(ref)).status === 'running');
  strictEqual((await listedSessions(access).look(ref)).mark, null);
  await run;
  await eventually('it has ended', async () => (await listedSessions(access).look(ref)).status === 'ended');
  ok((await listedSessions(access).messages(ref)).length >= 2);
});

test('a turn that is over its time ends at the gateway', async () => {
  const turn = turnOf({ hang: true }, { timeoutMs: 2_000 });
  await rejects(gateway.run(turn, 'websocket', never, ignore), { kind: 'timeout', accepted: true });
});

test('a turn of before is followed to the same answer', async () => {
  for (const transport of TRANSPORTS) {
    const turn = turnOf({ say: `said over ${transport}` });
    const ref = refOf(turn, transport);
    const { usage } = await gateway.run(turn, transport, never, ignore);
    const followed = await gateway.follow(ref, never);
    deepStrictEqual([followed.text, followed.usage], [`said over ${transport}`, usage]);
  }
});

test('a turn goes on when its client goes away, and another client follows it', async () => {
  const first = clientOf(real);
  const turn = turnOf({ words: 20, gapMs: 150 });
  const ref = refOf(turn, 'websocket');
  const taken = Promise.withResolvers<void>();
  const failed = rejects(first.run(turn, 'websocket', never, taken.resolve), {
    kind: 'lost',
    accepted: true,
  });
  await taken.promise;
  await first.close();
  await failed;
  const { text } = await gateway.follow(ref, never);
  ok(text.startsWith('word0') && text.endsWith('word19'), text);
});

test('a chat turn ends when its client goes away', async () => {
  const asked = real.modelRequests().length;
  const turn = turnOf({ words: 100, gapMs: 150 });
  const ref = refOf(turn, 'chat');
  const stop = new AbortController();
  const failed = rejects(gateway.run(turn, 'chat', stop.signal, ignore), { kind: 'aborted' });
  await eventually('the model was asked', () => real.modelRequests().length > asked);
  stop.abort();
  await failed;
  await rejects(gateway.follow(ref, never), { kind: 'aborted', accepted: true });
});

for (const refused of REFUSALS) {
  test(`the original refuses ${refused.name}`, async () => {
    deepStrictEqual(await refusalOf(real, refused), refused.expected);
  });
}

for (const way of ['hook', 'command'] as const) {
  test(`a text reaches the main session by ${way} [SC-07]`, async () => {
    const client = clientOf(real, way === 'hook');
    await client.wake(`the ${way} rang`, 'main');
    await eventually('the model read it', () =>
      real.modelRequests().some(({ prompt }) => prompt.includes(`the ${way} rang`)),
    );
    await client.close();
  });
}
