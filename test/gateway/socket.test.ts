import { deepStrictEqual, match, strictEqual } from 'node:assert';
import { test } from 'node:test';
import { FakeClock, until } from '../support/clock.ts';
import { failsAs, ignore, KEY, never, open, refOf, TURN } from './support.ts';

test('a turn over the WebSocket is taken at once and comes back with its text and usage', async (t) => {
  const { gateway, standIn } = await open(t);
  standIn.state.plan = () => ({ hang: true });
  let accepted = 0;
  const turn = { ...TURN, model: 'stub/echo-2', thinking: 'high', timeoutMs: 90_500 };
  const run = gateway.run(turn, 'websocket', never, () => accepted++);
  await until('the turn was taken', () => accepted === 1);
  standIn.finish(KEY, 'hello there');
  deepStrictEqual(await run, {
    text: 'hello there',
    usage: { inputTokens: 100, outputTokens: 7, totalTokens: 107 },
    sessionKey: KEY,
  });
  deepStrictEqual(standIn.requests('agent')[0]?.body, {
    message: 'say hello',
    agentId: 'main',
    sessionKey: KEY,
    idempotencyKey: 'r1:1',
    deliver: false,
    model: 'stub/echo-2',
    thinking: 'high',
    timeout: 91,
  });
  strictEqual(accepted, 1);
});

test('a long answer is not cut as agent.wait cuts it', async (t) => {
  const { gateway, standIn } = await open(t);
  standIn.state.plan = () => ({ text: 'x'.repeat(300_000) });
  strictEqual((await gateway.run(TURN, 'websocket', never, ignore)).text.length, 300_000);
});

test('a hundred turns share one connection, and each gets its own answer', async (t) => {
  const { gateway, standIn } = await open(t);
  const numbers = Array.from({ length: 100 }, (_, n) => n);
  const results = await Promise.all(
    numbers.map((n) =>
      gateway.run(
        { ...TURN, sessionKey: `scheduler:s:${n}`, runKey: `r${n}`, message: `${n}` },
        'websocket',
        never,
        ignore,
      ),
    ),
  );
  deepStrictEqual(
    results.map(({ text }) => text),
    numbers.map((n) => `echo: ${n}`),
  );
  strictEqual(standIn.requests('connect').length, 1);
});

test('waiting goes on until the turn has really ended', async (t) => {
  const { gateway, standIn } = await open(t, { limits: { waitMs: 10 } });
  standIn.state.plan = () => ({ hang: true });
  const run = gateway.run(TURN, 'websocket', never, ignore);
  await until('it was asked again', () => standIn.requests('agent.wait').length > 3);
  standIn.finish(KEY, 'at last');
  strictEqual((await run).text, 'at last');
});

test('calling a turn off stops that turn at the gateway', async (t) => {
  const { gateway, standIn } = await open(t);
  standIn.state.plan = () => ({ hang: true });
  const stop = new AbortController();
  const run = gateway.run(TURN, 'websocket', stop.signal, () => stop.abort());
  await failsAs(run, 'aborted', true);
  strictEqual(standIn.state.runs.sessions.get(KEY)?.status, 'killed');
  deepStrictEqual(standIn.requests('sessions.abort')[0]?.body, { key: KEY, runId: 'r1:1' });
});

test('abort stops whatever runs in the session, and says when nothing does', async (t) => {
  const { gateway, standIn } = await open(t);
  standIn.state.plan = () => ({ hang: true });
  strictEqual(await gateway.abort(TURN), 'idle');
  const run = failsAs(gateway.run(TURN, 'websocket', never, ignore), 'aborted', true);
  await until('the turn runs', () => standIn.state.runs.live(KEY) !== undefined);
  strictEqual(await gateway.abort(TURN), 'aborted');
  await run;
});

test('a turn that runs out of time at the gateway is a timeout', async (t) => {
  const { gateway, standIn } = await open(t);
  standIn.state.plan = () => ({ hang: true });
  await failsAs(gateway.run({ ...TURN, timeoutMs: 1 }, 'websocket', never, ignore), 'timeout', true);
});

for (const [message, kind] of [
  ['stub/echo-1 request failed (provider internal error, HTTP 500). This is usually temporary', 'upstream'],
  ['LLM request failed: provider rejected the request schema or tool payload.', 'upstream'],
  ['API rate limit reached. Please try again later.', 'rate_limited'],
  ['Thinking level "high" is not supported for stub/echo-1. Use one of: off.', 'refused'],
  ["Agent couldn't generate a response. Please try again.", 'failed'],
] as const) {
  test(`a turn that ends with "${message.slice(0, 40)}" is ${kind}`, async (t) => {
    const { gateway, standIn } = await open(t);
    standIn.state.plan = () => ({ failure: { status: 500, type: 'api_error', message } });
    const error = await failsAs(gateway.run(TURN, 'websocket', never, ignore), kind, true);
    strictEqual(error.message, message);
    deepStrictEqual(error.usage, { inputTokens: 100, outputTokens: 7, totalTokens: 107 });
  });
}

test('an unknown agent is refused before anything runs', async (t) => {
  const { gateway } = await open(t);
  const turn = { ...TURN, agentId: 'nobody' };
  match((await failsAs(gateway.run(turn, 'websocket', never, ignore), 'refused', false)).message, /nobody/);
});

test('a gateway that drains takes no turn and lets the one under way end', async (t) => {
  const { gateway, standIn } = await open(t, { limits: { waitMs: 10 } });
  standIn.state.plan = () => ({ hang: true });
  let accepted = false;
  const run = gateway.run(TURN, 'websocket', never, () => (accepted = true));
  await until('the turn was taken', () => accepted);
  standIn.state.draining = true;
  const next = { ...TURN, runKey: 'r2:1' };
  const error = await failsAs(gateway.run(next, 'websocket', never, ignore), 'draining', false);
  strictEqual(error.retryAfterMs, 1000);
  standIn.finish(KEY, 'finished while draining');
  strictEqual((await run).text, 'finished while draining');
});

test('while a gateway drains there is no transport to choose', async (t) => {
  const { gateway, standIn } = await open(t);
  standIn.state.draining = true;
  await failsAs(gateway.transport(), 'draining', false);
  await standIn.down();
  await failsAs(gateway.transport(), 'down', false);
});

test('a connection that breaks after acceptance leaves the turn running and its fate unknown', async (t) => {
  const { gateway, standIn } = await open(t);
  standIn.state.plan = () => ({ hang: true });
  let accepted = false;
  const run = gateway.run(TURN, 'websocket', never, () => (accepted = true));
  const failed = failsAs(run, 'lost', true);
  await until('the turn was taken', () => accepted);
  standIn.dropSockets();
  await failed;
  strictEqual(standIn.state.runs.live(KEY)?.state, 'running');
});

test('a connection that broke is opened again for the next turn', async (t) => {
  const { gateway, standIn } = await open(t);
  await gateway.run(TURN, 'websocket', never, ignore);
  standIn.dropSockets();
  await until('the client noticed', async () => (await gateway.readiness()).ready);
  const turn = { ...TURN, runKey: 'r2:1' };
  let text = '';
  await until('a turn went through', async () => {
    text = await gateway.run(turn, 'websocket', never, ignore).then(
      (result) => result.text,
      () => '',
    );
    return text !== '';
  });
  strictEqual(standIn.requests('connect').length, 2);
});

test('a gateway that is away is dialled later and later, at most every five seconds', async (t) => {
  const clock = new FakeClock();
  const { gateway, standIn } = await open(t, { clock });
  await standIn.down();
  const waits: number[] = [];
  for (let attempt = 0; attempt < 8; attempt++) {
    const startedAt = clock.now();
    let over = false;
    const failed = failsAs(gateway.run(TURN, 'websocket', never, ignore), 'down', false).then(
      () => (over = true),
    );
    await until('it gave up', async () => {
      if (!over && clock.pending > 0 && attempt > 0) await clock.advance(250);
      return over;
    });
    await failed;
    waits.push(clock.now() - startedAt);
  }
  deepStrictEqual(
    waits,
    waits.toSorted((a, b) => a - b),
  );
  strictEqual(waits.at(-1), 5_000);
});

test('a gateway that goes silent is given up after the limit of one request', async (t) => {
  const clock = new FakeClock();
  const { gateway, standIn } = await open(t, { clock });
  standIn.state.silent.add('agent');
  // No word of acceptance, but the gateway may have taken it.
  const failed = failsAs(gateway.run(TURN, 'websocket', never, ignore), 'lost', true);
  await until('the turn was sent', () => standIn.requests('agent').length === 1);
  await clock.advance(30_000);
  await failed;
});

test('a request without an answer disturbs no turn while the gateway speaks', async (t) => {
  const clock = new FakeClock();
  const { gateway, standIn } = await open(t, { clock });
  standIn.state.plan = () => ({ hang: true });
  const run = gateway.run(TURN, 'websocket', never, ignore);
  await until('the turn runs', () => standIn.state.runs.live(KEY) !== undefined);
  standIn.state.silent.add('sessions.abort');
  const failed = failsAs(gateway.abort(TURN), 'lost', true);
  await until('it was asked', () => standIn.requests('sessions.abort').length === 1);
  standIn.sendFrame('{"type":"event","event":"tick"}');
  // The tick has arrived when an answer that was sent after it is here.
  await gateway.activity(refOf(TURN));
  await clock.advance(30_000);
  await failed;
  standIn.finish(KEY, 'undisturbed');
  strictEqual((await run).text, 'undisturbed');
});

test('a gateway that never greets is given up after ten seconds', async (t) => {
  const clock = new FakeClock();
  const { gateway, standIn } = await open(t, { clock });
  standIn.state.silent.add('connect');
  const failed = failsAs(gateway.run(TURN, 'websocket', never, ignore), 'down', false);
  await until('we introduced ourselves', () => standIn.requests('connect').length === 1);
  await clock.advance(10_000);
  await failed;
});

test('a turn that is longer than the gateway takes is refused and disturbs nobody', async (t) => {
  const { gateway, standIn } = await open(t);
  standIn.state.maxPayload = 100_000;
  standIn.state.plan = () => ({ hang: true });
  let accepted = false;
  const run = gateway.run(TURN, 'websocket', never, () => (accepted = true));
  await until('the turn was taken', () => accepted);
  const long = { ...TURN, runKey: 'r2:1', message: 'x'.repeat(100_001) };
  await failsAs(gateway.run(long, 'websocket', never, ignore), 'refused', false);
  standIn.finish(KEY, 'undisturbed');
  strictEqual((await run).text, 'undisturbed');
});

for (const [what, frame] of [
  ['no JSON', 'garbage'],
  ['an unknown type', '{"type":"surprise"}'],
  ['an array', '[1,2]'],
] as const) {
  test(`a gateway that sends ${what} is hung up on`, async (t) => {
    const { gateway, standIn } = await open(t);
    standIn.state.plan = () => ({ hang: true });
    let accepted = false;
    const failed = failsAs(
      gateway.run(TURN, 'websocket', never, () => (accepted = true)),
      'lost',
      true,
    );
    await until('the turn was taken', () => accepted);
    standIn.sendFrame(frame);
    await failed;
  });
}

test('a frame that would fill the memory ends the connection', async (t) => {
  const { gateway, standIn } = await open(t);
  standIn.state.plan = () => ({ hang: true });
  let accepted = false;
  const failed = failsAs(
    gateway.run(TURN, 'websocket', never, () => (accepted = true)),
    'lost',
    true,
  );
  await until('the turn was taken', () => accepted);
  standIn.sendFrame(' '.repeat(64 * 1024 * 1024 + 1));
  match((await failed).message, /a frame of 67108865 characters/);
});

test('events and answers that nobody waits for are ignored', async (t) => {
  const { gateway, standIn } = await open(t);
  await gateway.run(TURN, 'websocket', never, ignore);
  standIn.sendFrame('{"type":"event","event":"tick"}');
  standIn.sendFrame('{"type":"res","id":"999","ok":true}');
  await gateway.run({ ...TURN, runKey: 'r2:1' }, 'websocket', never, ignore);
  strictEqual(standIn.requests('connect').length, 1);
});

test('the same turn sent twice runs once', async (t) => {
  const { gateway, standIn } = await open(t, { limits: { waitMs: 10 } });
  standIn.state.plan = () => ({ hang: true });
  let accepted = 0;
  const both = [1, 2].map(() => gateway.run(TURN, 'websocket', never, () => accepted++));
  await until('both were taken', () => accepted === 2);
  standIn.finish(KEY, 'once');
  deepStrictEqual(
    (await Promise.all(both)).map(({ text }) => text),
    ['once', 'once'],
  );
  strictEqual(standIn.state.runs.runs.length, 1);
});
