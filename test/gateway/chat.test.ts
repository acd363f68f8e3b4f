import { deepStrictEqual, match, ok, partialDeepStrictEqual, strictEqual } from 'node:assert';
import { test } from 'node:test';
import { until } from '../support/clock.ts';
import { failsAs, ignore, KEY, never, open, TURN } from './support.ts';

test('a chat turn is one POST with the agent, the session and one user message [SC-08 SC-81]', async (t) => {
  const { gateway, standIn } = await open(t);
  standIn.state.plan = () => ({ text: 'hello there' });
  let accepted = 0;
  const turn = { ...TURN, agentId: 'ops', sessionKey: 'scheduler:job7:run9' };
  const result = await gateway.run(turn, 'chat', never, () => accepted++);
  deepStrictEqual(result, {
    text: 'hello there',
    usage: { inputTokens: 100, outputTokens: 7, totalTokens: 107 },
    sessionKey: null,
  });
  strictEqual(accepted, 1);
  const [request, ...more] = standIn.requests('/v1/chat/completions');
  strictEqual(more.length, 0);
  const {
    authorization,
    'x-openclaw-agent-id': agent,
    'x-openclaw-session-key': key,
  } = request?.headers ?? {};
  deepStrictEqual(
    [authorization, agent, key],
    ['Bearer token-of-the-stand-in', 'ops', 'scheduler:job7:run9'],
  );
  strictEqual(request?.headers['x-openclaw-scopes'], 'operator.write');
  deepStrictEqual(request?.body, {
    model: 'openclaw:ops',
    messages: [{ role: 'user', content: 'say hello' }],
    stream: false,
  });
});

test('without a token a chat turn claims nothing: no Authorization, no scopes [SC-08]', async (t) => {
  const { gateway, standIn } = await open(t, { token: null, standInToken: null });
  await gateway.run(TURN, 'chat', never, ignore);
  const headers = standIn.requests('/v1/chat/completions')[0]?.headers ?? {};
  ok(!('authorization' in headers) && !('x-openclaw-scopes' in headers));
});

test('a model of its own goes into a header, and the agent stays the model', async (t) => {
  const { gateway, standIn } = await open(t);
  await gateway.run({ ...TURN, model: 'stub/echo-2' }, 'chat', never, ignore);
  const [request] = standIn.requests('/v1/chat/completions');
  strictEqual(request?.headers['x-openclaw-model'], 'stub/echo-2');
  partialDeepStrictEqual(request?.body, { model: 'openclaw:main' });
});

test('calling a chat turn off stops it at the gateway', async (t) => {
  const { gateway, standIn } = await open(t);
  standIn.state.plan = () => ({ hang: true });
  const stop = new AbortController();
  const run = gateway.run(TURN, 'chat', stop.signal, ignore);
  await until('the turn runs', () => standIn.state.runs.live(KEY) !== undefined);
  stop.abort();
  await failsAs(run, 'aborted', true);
  await until('the session was killed', () => standIn.state.runs.sessions.get(KEY)?.status === 'killed');
  strictEqual(standIn.requests('/v1/chat/completions')[0]?.aborted, true);
});

test('a turn that was called off before it began is not sent', async (t) => {
  const { gateway, standIn } = await open(t);
  await failsAs(gateway.run(TURN, 'chat', AbortSignal.abort(), ignore), 'aborted', false);
  strictEqual(standIn.state.recorded.length, 0);
});

test('abort stops a chat turn where there is no WebSocket', async (t) => {
  const { gateway, standIn } = await open(t);
  Object.assign(standIn.state, { websocket: false, plan: () => ({ hang: true }) });
  strictEqual(await gateway.abort(TURN), 'idle');
  const run = gateway.run(TURN, 'chat', never, ignore);
  const failed = failsAs(run, 'aborted', true);
  await until('the turn runs', () => standIn.state.runs.live(KEY) !== undefined);
  strictEqual(await gateway.abort(TURN), 'aborted');
  await failed;
});

test('a gateway that dies in the middle of a chat turn leaves its fate unknown', async (t) => {
  const { gateway, standIn } = await open(t);
  standIn.state.plan = () => ({ hang: true });
  let accepted = false;
  const run = gateway.run(TURN, 'chat', never, () => (accepted = true));
  const failed = failsAs(run, 'lost', true);
  await until('the turn runs', () => standIn.state.runs.live(KEY) !== undefined);
  await standIn.crash();
  await failed;
  strictEqual(accepted, false);
});

test('a gateway that is not there has taken nothing', async (t) => {
  const { gateway, standIn } = await open(t);
  await standIn.down();
  await failsAs(gateway.run(TURN, 'chat', never, ignore), 'down', false);
});

test('a gateway that drains has taken nothing, and says when to come back', async (t) => {
  const { gateway, standIn } = await open(t);
  standIn.state.draining = true;
  const error = await failsAs(gateway.run(TURN, 'chat', never, ignore), 'draining', false);
  strictEqual(error.retryAfterMs, 1000);
});

test('a gateway without chat completions is told how to offer it [SC-92]', async (t) => {
  const { gateway, standIn } = await open(t);
  standIn.state.chatCompletions = false;
  const error = await failsAs(gateway.run(TURN, 'chat', never, ignore), 'refused', false);
  match(error.message, /gateway\.http\.endpoints\.chatCompletions\.enabled/);
});

test("the gateway's refusal of our token is not the model's refusal of its key", async (t) => {
  const { gateway, standIn } = await open(t, { standInToken: 'another' });
  await failsAs(gateway.run(TURN, 'chat', never, ignore), 'unauthorized', false);
  const second = await open(t);
  second.standIn.state.plan = () => ({
    failure: { status: 401, type: 'authentication_error', message: 'bad key' },
  });
  await failsAs(second.gateway.run(TURN, 'chat', never, ignore), 'upstream', true);
  strictEqual(standIn.requests('/v1/chat/completions').length, 1);
});

for (const [status, type, kind] of [
  [502, 'api_error', 'upstream'],
  [429, 'rate_limit_error', 'rate_limited'],
  [500, 'api_error', 'failed'],
] as const) {
  test(`a turn that ends with ${status} ${type} was taken and is ${kind}`, async (t) => {
    const { gateway, standIn } = await open(t);
    standIn.state.plan = () => ({ failure: { status, type, message: 'the model failed' } });
    const error = await failsAs(gateway.run(TURN, 'chat', never, ignore), kind, true);
    match(error.message, /the model failed/);
  });
}

test('an unknown agent is refused by the gateway', async (t) => {
  const { gateway } = await open(t);
  const error = await failsAs(
    gateway.run({ ...TURN, agentId: 'nobody' }, 'chat', never, ignore),
    'refused',
    false,
  );
  match(error.message, /Unknown agent 'nobody'/);
});

test('a message of megabytes arrives whole, one beyond what the gateway takes is refused', async (t) => {
  const { gateway, standIn } = await open(t);
  standIn.state.plan = (message) => ({ text: String(message.length) });
  const long = { ...TURN, message: 'ü'.repeat(5_000_000) };
  strictEqual((await gateway.run(long, 'chat', never, ignore)).text, '5000000');
  const longer = { ...TURN, message: 'x'.repeat(21 * 1024 * 1024) };
  await failsAs(gateway.run(longer, 'chat', never, ignore), 'refused', false);
});
